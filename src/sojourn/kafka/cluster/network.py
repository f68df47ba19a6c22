"""The network between brokers, as bad as you like: latency, loss, pauses and cuts, all from one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from random import Random
from typing import Any

from ...errors import ConfigError
from ..engine import Engine

Node = int | str
"""A broker's number, or "controller"."""
Message = tuple[Callable[..., object], tuple[Any, ...]]


class Network:
    """Carries messages from node to node. A link keeps their order, as a connection does.

    `latency_ms`  from and to: each message takes a time between the two.
    `loss`        the share of messages that never arrive.

    A message to or from a paused node waits until the node is resumed, as do all behind it; one across a cut is lost.
    """

    def __init__(self, *, seed: int = 0, latency_ms: tuple[int, int] = (1, 5), loss: float = 0.0) -> None:
        if not 0 <= latency_ms[0] <= latency_ms[1]:
            raise ConfigError(f"latency_ms={latency_ms} is not (least, most) of at least 0")
        if not 0 <= loss <= 1:
            raise ConfigError(f"loss={loss} is not a share from 0 to 1")
        self.latency_ms = latency_ms
        self.loss = loss
        self.sent = self.lost = 0
        self._random = Random(seed)
        self._engine: Engine | None = None
        self._turn: AbstractContextManager[None] = nullcontext()
        self._cut: set[frozenset[Node]] = set()
        self._held: dict[Node, list[tuple[Node, Node, Message]]] = {}
        self._free_at: dict[tuple[Node, Node], int] = {}

    def attach(self, engine: Engine) -> None:
        """Serve one cluster; a network cannot serve two."""
        if self._engine is not None:
            raise ConfigError("this network serves another cluster already; make a new one")
        self._engine, self._turn = engine, engine.turns

    def send(self, source: Node, target: Node, deliver: Callable[..., object], *args: Any) -> None:
        """Have `deliver(*args)` called at the target, if it gets there."""
        self.sent += 1
        if frozenset((source, target)) in self._cut or (self.loss and self._random.random() < self.loss):
            self.lost += 1
            return
        for node in (source, target):
            if node in self._held:
                self._held[node].append((source, target, (deliver, args)))
                return
        self._carry(source, target, (deliver, args))

    def cut(self, nodes: Iterable[Node], others: Iterable[Node]) -> None:
        """Lose every message between the two sides, both ways, from now on until `heal`."""
        sides = list(others)
        with self._turn:
            self._cut |= {frozenset((node, other)) for node in nodes for other in sides if node != other}

    def heal(self) -> None:
        """Undo every cut."""
        with self._turn:
            self._cut.clear()

    def pause(self, node: Node) -> None:
        """Hold whatever comes from or goes to the node; what is on its way still arrives."""
        with self._turn:
            self._held.setdefault(node, [])

    def resume(self, node: Node) -> None:
        """Let go of what was held, in order."""
        with self._turn:
            for source, target, message in self._held.pop(node, []):
                other = source if target == node else target
                if other in self._held:
                    self._held[other].append((source, target, message))
                else:
                    self._carry(source, target, message)

    def _carry(self, source: Node, target: Node, message: Message) -> None:
        engine = self._engine
        assert engine is not None, "a network is attached by the cluster that it serves"
        now = engine.now_ms()
        link = (source, target)
        least, most = self.latency_ms
        latency_ms = least + int(self._random.random() * (most - least + 1))
        arrives = max(now + latency_ms, self._free_at.get(link, 0))
        self._free_at[link] = arrives
        deliver, args = message
        engine.schedule(arrives - now, deliver, *args)
