"""The purgatory: operations that cannot finish yet, watched by key, until they complete, expire or are cancelled."""

from ._build import DelayedOperation
from .purgatory import Purgatory, PurgatoryStats

__all__ = ["DelayedOperation", "Purgatory", "PurgatoryStats"]
