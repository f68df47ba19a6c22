from __future__ import annotations

from dataclasses import replace
from random import SystemRandom

import pytest

from simulate import run_chunk
from sojourn.errors import ConfigError
from sojourn.kafka import Cluster, DelayedProduce, Error, MemoryLog, ProduceResult, TopicPartition
from sojourn.kafka.log import Log, Record
from sojourn.kafka.simulation import FAULTS, BrokenPromiseError, Load, Scenario, Simulation, fault_names, harsh_scenario
from sojourn.kafka.simulation.audit import Audit
from sojourn.rules import Event

RUNS = 2_000
CHUNKS = 20


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_cluster_keeps_its_promises_whatever_fails(chunk: int) -> None:
    first = SystemRandom().randrange(10**12)
    print(f"seeds from {first}")
    failure = run_chunk("clusters", first, first + RUNS // CHUNKS)
    assert failure is None, failure


@pytest.mark.parametrize("faults", [(), *((fault,) for fault in FAULTS)], ids=lambda faults: "-".join(faults) or "none")
def test_a_cluster_keeps_its_promises_under_each_fault_alone(faults: tuple[str, ...]) -> None:
    for seed in range(10):
        Simulation(replace(harsh_scenario(seed), faults=faults)).run()


def events(scenario: Scenario) -> list[Event]:
    log = MemoryLog()
    Simulation(scenario, log).run()
    return log.events


def test_the_same_seed_gives_the_same_run_event_by_event() -> None:
    assert events(harsh_scenario(5)) == events(harsh_scenario(5)) != events(harsh_scenario(6))


def test_the_same_seed_gives_the_same_logs_record_by_record() -> None:
    def records(seed: int) -> list[object]:
        simulation = Simulation(harsh_scenario(seed))
        simulation.run()
        replicas = [
            replica for broker in simulation.cluster.brokers.values() for replica in broker.replicas.replicas.values()
        ]
        return [(r.broker, r.partition, r.high_watermark, all_records(r.log)) for r in replicas]

    assert records(5) == records(5) != records(6)


def all_records(log: Log) -> list[Record]:
    return [log[offset] for offset in range(log.start_offset, log.end_offset)]


def test_a_minute_with_kafkas_defaults_and_no_faults_loses_and_expires_no_write() -> None:
    log = MemoryLog()
    scenario = Scenario(seed=1, faults=(), duration_ms=60_000, load=Load(produce_timeout_ms=(1_000, 1_000)))
    simulation = Simulation(scenario, log)
    simulation.run()
    produces = {event.key for event in log.events if event.kind == "produce"}
    ends = {event.kind for event in log.events if event.key in produces and event.kind in ("completed", "expired")}
    assert ends == {"completed"}
    assert simulation.audit.acknowledged > 100
    assert simulation.cluster.network.lost == 0


def test_an_unknown_fault_is_refused_with_those_there_are() -> None:
    assert fault_names("all") == FAULTS
    assert fault_names("none") == ()
    assert fault_names("crash,cut") == ("crash", "cut")
    with pytest.raises(ConfigError, match="fault 'flood' is not known; there are crash, cut, loss, member, pause, all"):
        fault_names("crash,flood")


# An audit that never fails would prove nothing: each promise is broken once, by hand.

T0 = TopicPartition("orders", 0)


@pytest.fixture
def simulation() -> Simulation:
    """A run that is over, with its cluster still there to be looked at."""
    simulation = Simulation(replace(harsh_scenario(2), faults=()))
    simulation.run()
    return simulation


def broken(simulation: Simulation) -> tuple[Cluster, Audit]:
    return simulation.cluster, simulation.audit


def test_a_high_watermark_beyond_a_replica_in_sync_is_noticed(simulation: Simulation) -> None:
    cluster, audit = broken(simulation)
    cluster.brokers[0].replicas.replicas[T0].high_watermark += 1_000
    with pytest.raises(BrokenPromiseError, match="is beyond"):
        audit.check()


def test_a_lost_record_is_noticed(simulation: Simulation) -> None:
    cluster, audit = broken(simulation)
    leader = cluster.brokers[cluster.state("orders", 0).leader or 0]
    leader.is_up = True
    audit._promise(T0, leader.replicas.replicas[T0].log.end_offset, b"gone")
    with pytest.raises(BrokenPromiseError, match="was promised and is not on leader"):
        audit.check_survivors()


def test_a_record_that_changes_is_noticed(simulation: Simulation) -> None:
    _, audit = broken(simulation)
    audit._promise(T0, 10**6, b"one")
    with pytest.raises(BrokenPromiseError, match="offset 1000000 was b'one' and is b'other'"):
        audit._promise(T0, 10**6, b"other")


def test_a_request_that_is_never_answered_is_noticed(simulation: Simulation) -> None:
    cluster, audit = broken(simulation)
    request = DelayedProduce(cluster.brokers[0].replicas, 100, {T0: ProduceResult(Error.NONE)})
    audit.follow(request)
    with pytest.raises(BrokenPromiseError, match="never answered"):
        audit.check_closed()


def test_a_generation_that_goes_back_is_noticed(simulation: Simulation) -> None:
    cluster, audit = broken(simulation)
    audit.check()
    next(iter(cluster.groups.groups.values())).generation -= 1
    with pytest.raises(BrokenPromiseError, match="generation"):
        audit.check()


def test_committed_offsets_that_are_lost_are_noticed(simulation: Simulation) -> None:
    cluster, audit = broken(simulation)
    audit.committed("readers", {T0: 10**6})
    with pytest.raises(BrokenPromiseError, match="were committed"):
        audit.check_survivors()
    assert cluster.groups.fetch_offsets("readers")[T0] < 10**6
