"""Kafka's patterns, each a few lines over the hub.

Each takes the hub to wait in, so that many share one timer; its `wait.result()` is the outcome. On a hub that
remembers, what came early counts: there, give the next round of a quorum, barrier, mark or readiness a key of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import count
from threading import Lock
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from .errors import ConfigError, RuleError
from .hub import Wait
from .hub._ending import progress_of
from .hub.hub import HubFace
from .rules import Duration, Event, Rule, all_of, reached, seen, total, value_error

T = TypeVar("T")


class Quorum:
    """Wait until enough replicas have acknowledged: produce with acks=all.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> with Hub(clock=ManualClock()) as hub:
    ...     quorum = Quorum(hub, "write-1", acks=2, within="30 s")
    ...     [quorum.ack(replica) for replica in ("one", "one", "two")]  # the same again does not count
    ...     quorum.wait.result().outcome
    [False, False, True]
    'completed'
    """

    def __init__(self, hub: HubFace, key: Hashable, *, acks: int, within: Duration) -> None:
        self._hub, self._key = hub, key
        self.wait: Wait = hub.wait(key, seen("ack", times=acks, distinct="source"), within)

    def ack(self, replica: str | int) -> bool:
        """One replica has it; True if that made the quorum."""
        return self._hub.signal(self._key, "ack", replica) > 0


class Batcher(Generic[T]):
    """Gather items, and deliver them together when there are enough or the time is up: fetch with min bytes, max wait.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> clock = ManualClock()
    >>> with Hub(clock=clock) as hub:
    ...     batcher = Batcher(hub, "partition-0", print, at_least=10, within="500 ms", size=len)
    ...     batcher.add("hello")
    ...     batcher.add("world")  # ten: delivered at once
    ...     batcher.add("bye")
    ...     ran = clock.advance(501)  # delivered because the time is up
    ['hello', 'world']
    ['bye']
    """

    def __init__(
        self,
        hub: HubFace,
        key: Hashable,
        deliver: Callable[[list[T]], object],
        *,
        at_least: float,
        within: Duration,
        size: Callable[[T], float] = lambda item: 1,
    ) -> None:
        _check_in_memory(hub, "the items of a Batcher")
        self._hub, self._key, self._deliver, self._size = hub, key, deliver, size
        self._until, self._within = total("item", at_least=at_least), within
        self._batch: Batch[T] | None = None
        self._lock = Lock()

    def add(self, item: T) -> None:
        """The first item of a batch starts its time. From any thread; `deliver` is called without a lock."""
        size = self._size(item)
        reason = value_error(self._until, Event("", "item", 0, None, size))
        if reason is not None:
            raise RuleError(f"size({item!r}): {reason}")
        with self._lock:
            batch = self._batch or self._begin()
            batch.items.append(item)
        self._hub.signal(batch.key, "item", value=size)

    def _begin(self) -> Batch[T]:
        batch: Batch[T] = Batch((self._key, next(batch_numbers)), [])
        self._hub.wait(batch.key, self._until, self._within, callback=lambda wait: self._full(batch))
        self._batch = batch
        return batch

    def _full(self, batch: Batch[T]) -> None:
        with self._lock:
            if self._batch is batch:
                self._batch = None
        self._deliver(batch.items)


class Batch(NamedTuple, Generic[T]):
    """What has gathered, and a key of its own, so that an item counts for this batch and no other."""

    key: tuple[Hashable, int]
    items: list[T]


batch_numbers = count(1)


class Barrier:
    """Wait until everybody has arrived: a group that rebalances once all its members have joined.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> with Hub(clock=ManualClock()) as hub:
    ...     barrier = Barrier(hub, "group-1", parties=3, within="1 min")
    ...     [barrier.arrive(member) for member in ("ann", "bob", "cem")]
    [False, False, True]
    """

    def __init__(self, hub: HubFace, key: Hashable, *, parties: int, within: Duration) -> None:
        self._hub, self._key = hub, key
        self.wait: Wait = hub.wait(key, seen("arrival", times=parties, distinct="source"), within)

    def arrive(self, party: str | int) -> bool:
        """One is here; True if that was the last."""
        return self._hub.signal(self._key, "arrival", party) > 0


class DeadMansSwitch:
    """Call back when somebody has not been heard of for a while: a session kept alive by heartbeats.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> clock = ManualClock()
    >>> with Hub(clock=clock) as hub:
    ...     switch = DeadMansSwitch(hub, "member-7", within="10 s", callback=lambda wait: print(wait.explain()))
    ...     for _ in range(3):
    ...         ran = clock.advance(9_000)
    ...         switch.beat()
    ...     ran = clock.advance(60_000)
    expired at 1970-01-01 00:00:37 UTC after 37 s: no beat for 10 s
    """

    def __init__(
        self, hub: HubFace, key: Hashable, *, within: Duration, callback: Callable[[Wait], object] | None = None
    ) -> None:
        self._hub, self._key, self._callback = hub, key, callback
        rule = Rule("dead-mans-switch", "start", within=within, keeps_alive="beat")
        self.wait: Wait = hub.wait(key, rule=rule, callback=self._ended)

    def beat(self) -> None:
        """Still alive: the time starts again."""
        self._hub.signal(self._key, "beat")

    def stop(self) -> bool:
        """Gone for good, and properly: nothing will be called."""
        return self.wait.cancel()

    def _ended(self, wait: Wait) -> None:
        if wait.outcome == "expired" and self._callback is not None:
            self._callback(wait)


class LowWaterMark:
    """Wait until every replica has reached a level: delete records, done when the low-water mark is past them.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> with Hub(clock=ManualClock()) as hub:
    ...     mark = LowWaterMark(hub, "partition-0", at_least=100, replicas=2, within="30 s")
    ...     [mark.report("one", 120), mark.report("two", 80), mark.report("two", 100)]
    [False, False, True]
    """

    def __init__(self, hub: HubFace, key: Hashable, *, at_least: float, replicas: int, within: Duration) -> None:
        self._hub, self._key = hub, key
        self.wait: Wait = hub.wait(key, reached("level", at_least, by=replicas), within)

    def report(self, replica: str | int, level: float) -> bool:
        """A replica has got so far; True if now all have."""
        return self._hub.signal(self._key, "level", replica, level) > 0


class Readiness:
    """Wait until all parts are ready, or take what there is when the time is up: create topics.

    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> clock = ManualClock()
    >>> with Hub(clock=clock) as hub:
    ...     topics = Readiness(hub, "request-1", ["orders", "fines"], within="5 s")
    ...     topics.ready("orders")
    ...     ran = clock.advance(5_001)
    ...     topics.ready_parts, topics.missing_parts, topics.wait.result().missing
    False
    (['orders'], ['fines'], 'fines')
    """

    def __init__(self, hub: HubFace, key: Hashable, parts: Iterable[str], *, within: Duration, **options: Any) -> None:
        self._hub, self._key = hub, key
        self._parts = tuple(dict.fromkeys(parts))
        self.wait: Wait = hub.wait(key, all_of(*self._parts), within, **options)

    def ready(self, part: str) -> bool:
        """A part is ready; True if that was the last."""
        if part not in self._parts:
            raise ValueError(f"part {part!r} is not awaited; there are {', '.join(self._parts)}")
        return self._hub.signal(self._key, part) > 0

    @property
    def ready_parts(self) -> list[str]:
        """Those that were ready in time, so far."""
        if not hasattr(self.wait, "_progress"):
            raise ConfigError(f"which parts are ready only the service knows: {self._hub!r}.explain(...) says it")
        have = progress_of(self.wait)
        return [part for part in self._parts if have(seen(part)).have]

    @property
    def missing_parts(self) -> list[str]:
        ready = self.ready_parts
        return [part for part in self._parts if part not in ready]


class AnyFuture(Protocol):
    """A future of `concurrent.futures`, or of asyncio for an `AsyncHub`."""

    def done(self) -> bool: ...

    def cancel(self) -> bool: ...

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object: ...


class DelayedFuture:
    """Wait until all futures are done, failed or not, and go on once: Kafka's DelayedFuture, for work done elsewhere.

    When the time is up, those that are not done are in `late`, and are cancelled as far as they can be: a thread that
    is at work on one cannot be stopped. (Kafka fails them with a TimeoutException.) However it ends, `callback` is
    called once.

    >>> from concurrent.futures import Future
    >>> from sojourn import Hub
    >>> from sojourn.testing import ManualClock
    >>> clock = ManualClock()
    >>> with Hub(clock=clock) as hub:
    ...     lookups = [Future(), Future()]
    ...     both = DelayedFuture(hub, "request-1", lookups, within="5 s", callback=lambda wait: print(wait.outcome))
    ...     lookups[0].set_result("found")
    ...     ran = clock.advance(5_001)
    ...     both.late == (lookups[1],), lookups[1].cancelled()
    expired
    (True, True)
    """

    def __init__(
        self,
        hub: HubFace,
        key: Hashable,
        futures: Iterable[AnyFuture],
        *,
        within: Duration,
        callback: Callable[[Wait], object] | None = None,
    ) -> None:
        _check_in_memory(hub, "futures")
        self.futures = tuple(futures)
        self.late: tuple[AnyFuture, ...] = ()
        self._hub, self._key, self._callback = hub, (key, next(future_numbers)), callback
        until = seen("done", times=max(1, len(self.futures)), distinct="source")
        self.wait: Wait = hub.wait(self._key, until, within, callback=self._ended)
        for number, future in enumerate(self.futures):
            future.add_done_callback(partial(self._done, number))
        if not self.futures:
            self._done(0)

    def _done(self, number: int, future: object = None) -> None:
        if self.wait.outcome is None:  # or a hub that remembers would keep it for nobody
            self._hub.signal(self._key, "done", number)

    def _ended(self, wait: Wait) -> None:
        if wait.outcome == "expired":
            self.late = tuple(future for future in self.futures if not future.done())
            for future in self.late:
                future.cancel()
        if self._callback is not None:
            self._callback(wait)


future_numbers = count(1)


def _check_in_memory(hub: HubFace, what: str) -> None:
    """On a disk a wait would survive the process, and what it is for would not."""
    if not hub._keeps_in_memory:
        raise ConfigError(
            f"{what} end with this process, and the waits of {hub!r} do not: give a hub without data= or url="
        )
