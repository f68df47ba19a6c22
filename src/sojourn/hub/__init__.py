"""The hub, the friendly face in one process: wait, signal, extend, cancel, list, explain."""

from ._build import Wait
from .hub import AsyncHub, Hub, HubStats

__all__ = ["AsyncHub", "Hub", "HubStats", "Wait"]
