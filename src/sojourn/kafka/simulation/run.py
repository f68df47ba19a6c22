"""A seeded run of a cluster with clients and faults, in virtual time, held to its promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from ...clock import ManualClock
from ..cluster.cluster import Cluster
from ..cluster.network import Network
from ..operation_log import OperationLog
from ..settings import Settings
from .audit import Audit
from .clients import Administrator, Client, Consumer, Load, Producer, Range
from .faults import FAULTS, Faults
from .member import GroupMember

TOPIC = "orders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything a run follows from."""

    seed: int = 0
    faults: tuple[str, ...] = FAULTS
    duration_ms: int = 3_600_000
    brokers: int = 3
    partitions: int = 3
    min_insync: int = 2
    settings: Settings = field(default_factory=Settings)
    load: Load = field(default_factory=Load)
    fault_every_ms: Range = (30_000, 300_000)
    fault_lasting_ms: Range = (500, 60_000)
    settle_ms: int = 120_000
    """How long after the last fault all must be well again."""
    check_every_ms: int = 10_000


def harsh_scenario(seed: int) -> Scenario:
    """A run of a virtual second in which everything goes wrong: thousands of these fit in a minute."""
    random = Random(seed)
    brokers = random.choice((2, 3, 3, 4))
    return Scenario(
        seed=seed,
        duration_ms=700,
        brokers=brokers,
        partitions=random.randint(1, 3),
        min_insync=random.randint(1, brokers - 1),
        settings=Settings(
            replica_lag_ms=150,
            replica_fetch_wait_ms=60,
            replica_fetch_backoff_ms=20,
            replica_fetch_timeout_ms=80,
            heartbeat_ms=60,
            session_ms=250,
            group_initial_delay_ms=60,
            group_min_session_ms=1,
            group_new_member_join_ms=100,
            mutation_rate=random.choice((None, 5)),
            group_max_size=random.choice((2, 100)),
        ),
        load=Load(
            produce_every_ms=(5, 50),
            produce_timeout_ms=(0, 300),
            poll_every_ms=(5, 40),
            poll_wait_ms=(0, 100),
            administer_every_ms=(20, 300),
            administer_timeout_ms=(0, 200),
            session_ms=150,
            rebalance_ms=120,
        ),
        fault_every_ms=(20, 200),
        fault_lasting_ms=(10, 400),
        settle_ms=500,
        check_every_ms=30,
    )


class Simulation:
    """One run. `run` raises `BrokenPromiseError` if something does not hold, and whatever fails inside the cluster."""

    def __init__(self, scenario: Scenario, log: OperationLog | None = None) -> None:
        self.scenario = scenario
        self.clock = ManualClock()
        random = Random(scenario.seed)
        new_seed = partial(random.getrandbits, 64)
        network = Network(seed=new_seed(), latency_ms=random.choice(((0, 1), (1, 5), (1, 30))))
        self.errors: list[BaseException] = []
        self.cluster = Cluster(
            scenario.brokers,
            clock=self.clock,
            network=network,
            settings=scenario.settings,
            log=log,
            on_error=self.errors.append,
        )
        self.audit = Audit(self.cluster)
        self.faults = Faults(
            self.cluster,
            scenario.faults,
            new_seed(),
            every_ms=scenario.fault_every_ms,
            lasting_ms=scenario.fault_lasting_ms,
        )
        self._survivors = Random(new_seed())
        self._clients = self._make_clients(new_seed)

    def run(self) -> None:
        """Set up, let it go on for the planned time, mend, and see what is left."""
        scenario = self.scenario
        try:
            self.cluster.create_topic(
                TOPIC, scenario.partitions, scenario.brokers, min_insync_replicas=scenario.min_insync
            )
            for client in self._clients:
                client.start()
            self.faults.start()
            self._advance(scenario.duration_ms)
            self._mend()
            self._advance(scenario.settle_ms)
            self.audit.check_survivors()
        finally:
            self.cluster.close()
        self._check_errors()
        self.audit.check_closed()

    def _make_clients(self, new_seed: Callable[[], int]) -> list[Client]:
        cluster, audit, load = self.cluster, self.audit, self.scenario.load
        members = [
            GroupMember(
                cluster,
                audit,
                load,
                new_seed(),
                instance_id=f"static-{i}" if i % 2 else None,
                dies="member" in self.scenario.faults,
            )
            for i in range(load.members)
        ]
        return [
            *(Producer(cluster, audit, load, new_seed(), TOPIC) for _ in range(load.producers)),
            *(Consumer(cluster, audit, load, new_seed(), TOPIC) for _ in range(load.consumers)),
            Administrator(cluster, audit, load, new_seed(), TOPIC),
            *members,
        ]

    def _advance(self, duration_ms: int) -> None:
        left_ms = duration_ms
        while left_ms > 0:
            step_ms = min(left_ms, self.scenario.check_every_ms)
            self.clock.advance(step_ms)
            left_ms -= step_ms
            self._check_errors()
            self.audit.check()

    def _mend(self) -> None:
        """End all faults. Of the brokers that are down some stay so, but every partition keeps a replica in sync."""
        for client in self._clients:
            client.stop()
        self.faults.end()
        for broker in self.cluster.brokers:
            if self._is_needed(broker) or self._survivors.random() < 0.5:
                self.cluster.start(broker)

    def _is_needed(self, broker: int) -> bool:
        brokers = self.cluster.brokers
        return any(
            broker in state.isr and not any(brokers[other].is_up for other in state.isr)
            for state in self.cluster.controller.partitions.values()
        )

    def _check_errors(self) -> None:
        if self.errors:
            raise self.errors[0]
