"""What a durable hub should do, by the hub in memory: operations as data, and a hub that they are done to.

An operation knows its time. So what is believed to have happened can be done again from the beginning, with or without
the call that a crash interrupted: a model is cheap, and there may be several until it is clear which one is true.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import sojourn as sj
from durable.scene import FUNDED, SHIPPED, WALL_MS
from sojourn.durable.state.state import remembered
from sojourn.hub._memory import Memory
from sojourn.rules import Event
from sojourn.testing import ManualClock

BEGINNING_MS = WALL_MS - 864_000_000
"""Before everything, even if the wall clock is set back."""

RULES = {
    rule.name: rule
    for rule in (
        SHIPPED,
        FUNDED,
        sj.Rule("alive", opens="order", keeps_alive="beat", within=160),
        sj.Rule("level", opens="order", until=sj.reached("coin", 3, by=2), within=190, cancels="void"),
        sj.Rule("some", opens="order", until=sj.n_of(2, "paid", "packed", sj.seen("ack", 2, "source")), within=180),
    )
}


class Asked(NamedTuple):
    """A wait as somebody asked for it: by a rule's name, or by how many acks and for how long."""

    keys: tuple[str, ...]
    rule: str | tuple[int, int]
    payload: Any = None

    @property
    def rule_name(self) -> str:
        return self.rule if isinstance(self.rule, str) else "wait"

    @property
    def until(self) -> dict[str, Any]:
        if isinstance(self.rule, str):
            return {"rule": RULES[self.rule]}
        acks, within = self.rule
        return {"until": sj.seen("ack", acks), "within": within}


class Operation(NamedTuple):
    """A verb with what it was given, and when it happened, by the stamps of the hub."""

    at: int
    verb: str
    given: tuple[Any, ...]


def look(wait: Any) -> tuple[Any, ...]:
    """The times of a pending wait, in memory or durable."""
    return wait.opened_at, wait.deadline, wait._cancelled_at


def in_memory(memory: Memory | None, now_ms: int) -> list[Event]:
    """Signals that a wait that comes now recalls."""
    return [] if memory is None else [event for event in remembered(memory) if event.at >= now_ms - memory.keep_ms]


class Model:
    """A hub in memory, brought to where the operations lead. Waits are known by their number."""

    def __init__(self, operations: list[Operation], remember: int | None) -> None:
        self.operations: list[Operation] = []
        self._remember = remember
        self._clock = ManualClock(wall_ms=BEGINNING_MS)
        self._hub = sj.Hub("model", clock=self._clock, remember=remember)
        self._now = BEGINNING_MS
        self.waits: dict[int, Any] = {}
        self.asked: list[tuple[str | None, Asked]] = []
        self._ids: dict[str, int] = {}
        self._signal_ids: set[str] = set()
        for operation in operations:
            self.do(operation)

    def __del__(self) -> None:
        """There are millions of them, and a timer with tasks is not forgotten by itself."""
        self._hub.close()

    def with_also(self, operations: list[Operation]) -> Model:
        """Another one, to which these have happened, too."""
        return Model([*self.operations, *operations], self._remember)

    def do(self, operation: Operation) -> Any:
        """Let it happen; what the hub should answer."""
        self.advance_to(operation.at)
        self.operations.append(operation)
        return getattr(self, f"_{operation.verb}")(*operation.given)

    def advance_to(self, now_ms: int) -> None:
        if now_ms > self._now:
            self._clock.advance(now_ms - self._now)
            self._now = now_ms

    def pending(self) -> dict[int, tuple[Any, ...]]:
        """Of each, all that a user can know, and whether it is about to be cancelled."""
        return {
            number: (given_id, asked.keys, asked.rule_name, asked.payload, *look(wait), wait.explain())
            for (number, wait), (given_id, asked) in zip(self.waits.items(), self.asked, strict=True)
            if not wait.done()
        }

    def known(self) -> tuple[Any, ...]:
        """What else there is to know: the ids of signals, and signals that are remembered."""
        return self._signal_ids - {""}, in_memory(self._hub._waits._memory, self._now)

    def outcome(self, number: int) -> tuple[Any, ...] | None:
        """As it should be told, without the id, which is the durable hub's own; None of a wait that is pending."""
        wait = self.waits.get(number)
        return tuple(wait.result(0))[1:] if wait is not None and wait.done() else None

    def number_of(self, wait_id: str) -> int | None:
        return int(wait_id[1:]) if wait_id.startswith("#") else self._ids.get(wait_id)

    # What can happen

    def _wait(self, *wanted: tuple[str | None, Asked]) -> Any:
        """The numbers of the waits, or the name of the error."""
        known = dict(self._ids)
        numbers, new = [], []
        for given_id, asked in wanted:
            number = len(self.waits) + len(new) + 1 if given_id is None else known.get(given_id)
            if number is None:
                number = known[str(given_id)] = len(self.waits) + len(new) + 1
            if number > len(self.waits) + len(new):
                new.append((given_id, asked))
            elif [*self.asked, *new][number - 1][1] != asked:
                return "IdTakenError"
            numbers.append(number)
        self._ids = known
        for given_id, asked in new:
            number = len(self.waits) + 1
            self.asked.append((given_id, asked))
            self.waits[number] = self._hub.wait(list(asked.keys), id=number, **asked.until)
        return numbers

    def _signal(self, *signals: tuple[str | None, tuple[Any, ...]]) -> int:
        completed = 0
        for given_id, signal in signals:
            if given_id is None or given_id not in self._signal_ids:
                completed += self._hub.signal(*signal)
                self._signal_ids.add(given_id or "")
        return completed

    def _extend(self, wait_id: str, within: int) -> bool:
        return self._hub.extend(self.number_of(wait_id), within)

    def _cancel(self, wait_id: str) -> bool:
        return self._hub.cancel(self.number_of(wait_id))

    def _cancel_where(self, rule: str | None, key_prefix: str | None) -> int:
        return sum(self._hub.cancel(number) for number in self._matching(rule, key_prefix))

    def _shift(self, rule: str | None, key_prefix: str | None, by: int) -> int:
        return sum(
            self._hub.extend(number, self.waits[number].deadline + by - self._now)
            for number in self._matching(rule, key_prefix)
        )

    def _matching(self, rule: str | None, key_prefix: str | None) -> list[int]:
        return [
            number
            for number in self.pending()
            if (rule is None or self.asked[number - 1][1].rule == rule)
            and (key_prefix is None or any(key.startswith(key_prefix) for key in self.asked[number - 1][1].keys))
        ]
