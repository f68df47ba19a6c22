"""The purgatory: operations that cannot finish yet, watched by key, until they complete, expire or are cancelled."""

from ._build import DelayedOperation as DelayedOperation
from .purgatory import Purgatory as Purgatory
from .purgatory import PurgatoryStats as PurgatoryStats

__all__ = ["DelayedOperation", "Purgatory", "PurgatoryStats"]
