"""What every delayed request has in common: one response, whoever brings it about, and its lines in the log."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import ClassVar, Generic, TypeVar

from ...clock import NS_PER_MS, Alarm, ManualClock
from ...purgatory import DelayedOperation, Purgatory
from ..engine import Engine
from ..operation_log import WHOLE

R = TypeVar("R")
Part = TypeVar("Part", bound=Hashable)


class Reply(Generic[R]):
    """A response that may come later. It comes once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._response: R | None = None
        self._is_answered = False
        self._callbacks: list[Callable[[R], object]] = []

    @property
    def is_answered(self) -> bool:
        return self._is_answered

    @property
    def response(self) -> R | None:
        """None until it is there."""
        return self._response

    def answer(self, response: R) -> None:
        """Give the response; those who wait for it are told at the end of the turn."""
        with self._engine.turns:
            if self._is_answered:
                raise AssertionError(f"answered twice: {self._response!r}, then {response!r}")
            self._response, self._is_answered = response, True
            for callback in self._callbacks:
                self._engine.later(callback, response)
            self._callbacks.clear()

    def then(self, callback: Callable[[R], object]) -> None:
        """Have `callback(response)` called once it is there, from whichever thread; at once if it is."""
        with self._engine.turns:
            if self._is_answered:
                self._engine.later(callback, self._response)
            else:
                self._callbacks.append(callback)

    def result(self, timeout_s: float | None = None) -> R:
        """Wait for the response, though not from a callback, which would wait for itself.

        On a `ManualClock` waiting moves the clock, a millisecond at a time.
        """
        clock = self._engine.clock
        alarm = Alarm()
        self.then(lambda _: alarm.set())
        deadline_ns = None if timeout_s is None else clock.now_ns() + round(timeout_s * 1e9)
        while not self._is_answered:
            left_ns = 3_600 * 10**9 if deadline_ns is None else deadline_ns - clock.now_ns()
            if left_ns <= 0:
                raise TimeoutError(f"no response after {timeout_s} s; the request itself goes on waiting")
            clock.wait(alarm, min(left_ns, NS_PER_MS) if isinstance(clock, ManualClock) else left_ns)
        return self._response  # type: ignore[return-value]


class DelayedRequest(DelayedOperation, Generic[R]):
    """A request that may have to wait for its response in a purgatory, and reports to the operation log.

    Subclasses say when it is done (`try_complete`), and what the response is (`respond`), which is asked for once.
    """

    kind: ClassVar[str]

    def __init__(self, engine: Engine, timeout_ms: int) -> None:
        super().__init__(max(0, timeout_ms))
        self.engine = engine
        self.reply: Reply[R] = Reply(engine)
        self.key: str | None = None
        """Its key in the operation log; None if it did not have to go to a purgatory."""
        self.opened_ms = engine.now_ms()
        self.ended_ms: int | None = None

    # For clients

    @property
    def response(self) -> R | None:
        """None while it is pending."""
        return self.reply.response

    def then(self, callback: Callable[[R], object]) -> None:
        """Have `callback(response)` called once it is there, at once if it is."""
        self.reply.then(callback)

    def result(self, timeout_s: float | None = None) -> R:
        """Wait for the response. On a `ManualClock` waiting moves the clock."""
        return self.reply.result(timeout_s)

    # For subclasses

    def respond(self) -> R:
        """The response, now that it has ended: `self.outcome` says how."""
        raise NotImplementedError

    # For those who take requests in

    def answer_now(self) -> None:
        """Respond without any waiting."""
        self.force_complete()

    def wait_in(self, purgatory: Purgatory, keys: Iterable[Hashable], source: str | None = None) -> None:
        """Wait until it is done or its time is up, and write that down."""
        self.key = self.engine.new_key(self.kind)
        self.engine.waiting[self.kind] += 1
        self.engine.report(self.key, self.kind, source, self.delay_ms)
        purgatory.try_complete_else_watch(self, keys)

    def report(self, kind: str, source: str | None = None, value: int | None = None) -> None:
        """Write down a signal."""
        if self.key is not None:
            self.engine.report(self.key, kind, source, value)

    # For the purgatory

    def on_complete(self) -> None:
        self._end()

    def on_cancellation(self) -> None:
        self._end()

    def _end(self) -> None:
        with self.engine.turns:
            self.ended_ms = self.engine.now_ms()
            self.engine.waiting[self.kind] -= self.key is not None
            self.report(str(self.outcome), None, self.ended_ms - self.opened_ms)
            self.reply.answer(self.respond())


class MultiPartRequest(DelayedRequest[R], Generic[Part, R]):
    """A request of several parts, each of which settles once, independently of the others; done when all have.

    A part that has settled stays so, whatever happens while the others are waited for: as in Kafka's DelayedProduce.
    """

    def __init__(self, engine: Engine, timeout_ms: int, parts: Iterable[Part]) -> None:
        super().__init__(engine, timeout_ms)
        self.pending: dict[Part, int] = {}
        """The parts that have not settled, each with its share of the whole."""
        names = list(dict.fromkeys(parts))
        for i, part in enumerate(names):
            share = WHOLE // len(names)
            self.pending[part] = share if i else WHOLE - share * (len(names) - 1)

    def settle(self, part: Part) -> bool:
        """Whether the part is done, successfully or not; keeps its result."""
        raise NotImplementedError

    def try_complete(self) -> bool:
        with self.engine.turns:
            settled = [part for part in self.pending if self.settle(part)]
            for part in settled:
                self.report("settled", str(part), self.pending.pop(part))
            if not settled:
                self.report("touched", None, len(self.pending))
            return not self.pending
