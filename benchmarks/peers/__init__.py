"""The peers: who is measured, how each is started, and how far each can go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import cast

from .base import Peer


@dataclass(frozen=True)
class Spec:
    """A peer as the runner knows it, without importing it."""

    name: str
    target: str
    """`module:class` below this package; empty for one that is not a Python class."""
    env: Mapping[str, str] = field(default_factory=dict)
    max_n: int | None = None
    """Beyond this many timers the peer is hopeless: it is measured here instead."""

    def size(self, n: int) -> int:
        """How many timers this peer is given when the others get `n`."""
        return n if self.max_n is None else min(n, self.max_n)

    def load(self) -> type[Peer]:
        """The class; importing it needs the peer's package and, for ours, the right environment."""
        module, _, name = self.target.partition(":")
        return cast("type[Peer]", getattr(import_module(f"{__name__}.{module}"), name))


SPECS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec("sojourn", "sojourn:SojournPeer"),
        Spec("sojourn-512", "sojourn:Sojourn512Peer"),
        Spec("sojourn-pure", "sojourn:SojournPurePeer", env={"SOJOURN_PURE": "1"}),
        Spec("asyncio", "loops:AsyncioPeer"),
        Spec("uvloop", "loops:UvloopPeer"),
        Spec("rloop", "loops:RloopPeer"),
        Spec("gevent", "greenlets:GeventPeer"),
        Spec("heapq", "heap:HeapPeer"),
        Spec("sched", "stdlib:SchedPeer", max_n=100_000),
        Spec("threading", "stdlib:ThreadingPeer", max_n=1_000),
        Spec("kafka", ""),
    )
}
