"""What goes wrong in a simulated cluster, when, and for how long: from one seed."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from ...errors import ConfigError
from ..cluster.broker import CONTROLLER
from ..cluster.cluster import Cluster
from ..cluster.network import Node
from .clients import Range

FAULTS = ("crash", "cut", "loss", "member", "pause")
"""A broker dies and comes back; a broker is cut off; messages get lost; members of groups die; a broker hangs."""


def fault_names(text: str) -> tuple[str, ...]:
    """`all`, `none`, or names with commas between."""
    if text in ("all", "none"):
        return FAULTS if text == "all" else ()
    names = tuple(text.split(","))
    for name in names:
        if name not in FAULTS:
            raise ConfigError(f"fault {name!r} is not known; there are {', '.join(FAULTS)}, all and none")
    return names


class Faults:
    """Breaks something every now and then, and mends it a while later. Several things may be broken at a time."""

    def __init__(
        self, cluster: Cluster, names: Collection[str], seed: int, *, every_ms: Range, lasting_ms: Range
    ) -> None:
        self._cluster = cluster
        self._engine = cluster.engine
        self._random = Random(seed)
        self._names = [name for name in names if name != "member"]  # those are the members' own affair
        self._every_ms = every_ms
        self._lasting_ms = lasting_ms
        self._is_over = False
        self.happened: dict[str, int] = dict.fromkeys(self._names, 0)

    def start(self) -> None:
        if self._names:
            self._engine.schedule(self._random.randint(*self._every_ms), self._happen)

    def end(self) -> None:
        """Mend everything but the dead, and break nothing any more."""
        self._is_over = True
        network = self._cluster.network
        network.heal()
        network.loss = 0.0
        for broker in self._cluster.brokers:
            network.resume(broker)

    def _happen(self) -> None:
        if self._is_over:
            return
        name = self._random.choice(self._names)
        self.happened[name] += 1
        broker = self._random.choice(list(self._cluster.brokers))
        lasting_ms = self._random.randint(*self._lasting_ms)
        getattr(self, f"_{name}")(broker, lasting_ms)
        self.start()

    def _crash(self, broker: int, lasting_ms: int) -> None:
        self._cluster.kill(broker)
        self._mend(lasting_ms, self._cluster.start, broker)

    def _pause(self, broker: int, lasting_ms: int) -> None:
        self._cluster.network.pause(broker)
        self._mend(lasting_ms, self._cluster.network.resume, broker)

    def _cut(self, broker: int, lasting_ms: int) -> None:
        """From everybody, from the other brokers, or from the controller only."""
        others: list[Node] = [node for node in self._cluster.brokers if node != broker]
        sides: tuple[list[Node], ...] = ([*others, CONTROLLER], others, [CONTROLLER])
        self._cluster.network.cut([broker], self._random.choice(sides))
        self._mend(lasting_ms, self._cluster.network.heal)

    def _loss(self, broker: int, lasting_ms: int) -> None:
        self._cluster.network.loss = self._random.choice((0.05, 0.3))
        self._mend(lasting_ms, setattr, self._cluster.network, "loss", 0.0)

    def _mend(self, delay_ms: int, action: object, *args: object) -> None:
        self._engine.schedule(delay_ms, self._unless_over, action, *args)

    def _unless_over(self, action: object, *args: object) -> None:
        assert callable(action)
        if not self._is_over:
            action(*args)
