from __future__ import annotations

import pytest

from sojourn.errors import ConfigError
from sojourn.kafka import Cluster, Network
from sojourn.kafka.engine import Engine, log_error
from sojourn.testing import ManualClock


class Wire:
    """A network, and what it delivered when."""

    def __init__(self, **options: object) -> None:
        self.clock = ManualClock()
        self.network = Network(**options)  # type: ignore[arg-type]
        self.network.attach(Engine(self.clock, None, log_error))
        self.arrived: list[tuple[object, int]] = []

    def send(self, message: object, source: int = 0, target: int = 1) -> None:
        self.network.send(source, target, self._deliver, message)

    def _deliver(self, message: object) -> None:
        self.arrived.append((message, self.clock.now_ms))


def test_a_message_takes_its_latency() -> None:
    wire = Wire(latency_ms=(7, 7))
    wire.send("a")
    wire.clock.advance(100)
    assert wire.arrived == [("a", 7)]


def test_a_link_keeps_the_order_of_its_messages() -> None:
    wire = Wire(latency_ms=(0, 50), seed=3)
    for i in range(50):
        wire.send(i)
        wire.clock.advance(1)
    wire.clock.advance(100)
    assert [message for message, _ in wire.arrived] == list(range(50))


def test_the_same_seed_gives_the_same_latencies_and_losses() -> None:
    def run(seed: int) -> list[tuple[object, int]]:
        wire = Wire(latency_ms=(0, 50), seed=seed, loss=0.2)
        for i in range(50):
            wire.send(i, i % 3, i % 4)
        wire.clock.advance(100)
        return wire.arrived

    assert run(5) == run(5) != run(6)


def test_a_lost_message_is_counted() -> None:
    wire = Wire(loss=1.0)
    wire.send("a")
    wire.clock.advance(100)
    assert (wire.arrived, wire.network.sent, wire.network.lost) == ([], 1, 1)


def test_nothing_crosses_a_cut_either_way_until_it_is_healed() -> None:
    wire = Wire(latency_ms=(1, 1))
    wire.network.cut([0], [1, 2])
    wire.send("there", 0, 1)
    wire.send("back", 2, 0)
    wire.send("besides", 1, 2)
    wire.clock.advance(10)
    wire.network.heal()
    wire.send("again", 0, 1)
    wire.clock.advance(10)
    assert [message for message, _ in wire.arrived] == ["besides", "again"]


def test_a_paused_node_gets_and_sends_everything_later_in_order() -> None:
    wire = Wire(latency_ms=(1, 1))
    wire.network.pause(1)
    wire.send("to", 0, 1)
    wire.send("from", 1, 0)
    wire.send("to again", 0, 1)
    wire.clock.advance(100)
    assert wire.arrived == []
    wire.network.resume(1)
    wire.clock.advance(1)
    assert [message for message, _ in wire.arrived] == ["to", "from", "to again"]


def test_a_message_between_two_paused_nodes_waits_for_both() -> None:
    wire = Wire(latency_ms=(1, 1))
    wire.network.pause(0)
    wire.network.pause(1)
    wire.send("a", 0, 1)
    wire.network.resume(0)
    wire.clock.advance(10)
    assert wire.arrived == []
    wire.network.resume(1)
    wire.clock.advance(10)
    assert wire.arrived == [("a", 11)]


@pytest.mark.parametrize("options", [{"latency_ms": (5, 1)}, {"latency_ms": (-1, 1)}, {"loss": 1.5}])
def test_a_network_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        Network(**options)  # type: ignore[arg-type]


def test_a_network_serves_one_cluster() -> None:
    network = Network()
    with Cluster(1, clock=ManualClock(), network=network), pytest.raises(ConfigError, match="another cluster"):
        Cluster(1, clock=ManualClock(), network=network)
