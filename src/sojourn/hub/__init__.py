"""The hub, the friendly face in one process: wait, signal, extend, cancel, list, explain."""

from ._build import Wait as Wait
from .hub import AsyncHub as AsyncHub
from .hub import Hub as Hub
from .hub import HubStats as HubStats

__all__ = ["AsyncHub", "Hub", "HubStats", "Wait"]
