"""The state: what follows from the records of a log, one after the other. No clock, no thread, no I/O.

A hub applies each record before it writes it, and a recovery applies those that it reads: `apply` is the same, so a hub
that was killed goes on as if nothing had happened. What a record does to a wait is for the law to say
(`hub/_law.py`, `rules/`). An outcome is told by a record of its own, which must agree with the law: else the log or
this code is wrong, and we stop.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DamagedError
from ...hub._law import hear, hear_single, last_instant, unmet
from ...hub._memory import Memory
from ...hub._plan import WaitPlan
from ...rules import Event, Rule
from ..log import records as r
from .incidents import Incident, Incidents, moved_to
from .roster import Roster
from .wait import Wait
from .waits import Opened

if TYPE_CHECKING:
    from .wait import Owner


class Settings(NamedTuple):
    """What changes the meaning of later records: so it is in the log too, at each start."""

    remember_ms: int | None = None
    """How long signals are kept for waits that have not come yet."""
    remember_most: int = 100_000
    ids_ms: int = 86_400_000
    """How long the ids of ended waits and of signals are known."""
    ids_most: int = 1_000_000
    grace_ms: int = 0


class State(Roster):
    """A roster of waits, with the rules, the remembered signals and ids, and the next numbers.

    Invariants (`check`): those of a roster; numbers of outcomes have no gaps; a plan is known while a
    registered rule or a wait has it.
    """

    def __init__(self, owner: Owner | None = None, known: dict[int, Wait] | None = None) -> None:
        super().__init__(owner, known)
        self.settings = Settings()
        self.plan_numbers: dict[str, int] = {}
        """Of each rule, by its text."""
        self.plan_uses: Counter[int] = Counter()
        """Waits that have each plan: pending, untold, or known by their id."""
        self.next_plan = 1
        self.rules: dict[str, int] = {}
        """The plan of each registered rule, by name: the last one registered."""
        self.reads_values = False
        """Whether a rule reads more of a signal than its kind."""
        self.shifts = 0
        """How many records of shifts there were."""
        self.signal_ids: set[str] = set()
        self.memory: Memory | None = None
        self.held: list[list[Any]] = []
        """Signals that wait for the end of the grace: event time, record, and the next wait's number then."""
        self.next_number = 1
        self.last_stamp = 0
        self.clock_steps = 0
        self.incidents = Incidents()
        self.stopped: dict[str, Incident] = {}
        """The rules whose clock is stopped."""
        self._ended_ids: deque[Wait] = deque()
        self._signal_order: deque[tuple[int, str]] = deque()
        self._apply: dict[int, Callable[..., Any]] = {
            r.START: self._start,
            r.RULE: self._rule,
            r.WAIT: self._open,
            r.SIGNAL: self._signal,
            r.EXTEND: self._extend,
            r.CANCEL: self._cancel,
            r.CANCEL_WHERE: self._cancel_where,
            r.SHIFT: self._shift,
            r.TOLD: self._tell,
            r.CLOCK: self._clock,
            r.GRACE_OVER: self._end_grace,
            r.CLOSE: self._close,
        }

    def apply(self, type_: int, body: Any) -> Any:
        """Let what a record says happen; what is returned depends on its type."""
        stamp = body[0]
        if stamp > self.last_stamp:
            self.last_stamp = stamp
        return self._apply[type_](*body)

    # What happens

    def _start(self, stamp: int, settings: dict[str, Any], about: dict[str, Any]) -> None:
        """A hub has opened the folder; during the grace, if any, nothing expires."""
        self.settings = Settings(**settings)
        for number in list(self.plans):
            self._forget_plan(number)  # a wait that was cut off may have left one behind
        if self.settings.grace_ms:
            self.grace_until = stamp + self.settings.grace_ms
        else:
            self._end_grace(stamp)
        self.set_memory([] if self.memory is None else list(remembered(self.memory)))

    def _close(self, stamp: int) -> None:
        """The hub was closed, not killed."""

    def _clock(self, stamp: int, wall_ms: int, is_followed: bool) -> None:
        self.clock_steps += 1

    def _rule(self, stamp: int, number: int, toml: str, is_registered: bool) -> None:
        if number not in self.plans:
            plan = self.plans[number] = plan_of(toml)
            self.plan_numbers[toml] = number
            self.next_plan = number + 1
            self.reads_values |= not plan._counts_only
        if is_registered:
            name = self.plans[number].rule.name
            before = self.rules.get(name)
            self.rules[name] = number
            if before is not None:
                self._forget_plan(before)

    def _open(
        self,
        stamp: int,
        first_seq: int,
        plan_number: int,
        within_ms: int,
        keys: list[str | list[str]],
        ids: list[str | None] | None,
        payloads: list[Any] | None,
    ) -> Opened | list[Wait]:
        opened = Opened(self, stamp, first_seq, plan_number, within_ms, keys, ids, payloads)
        self.next_seq = first_seq + len(keys)
        self.pending += len(keys)
        self.plan_uses[plan_number] += len(keys)
        if self.memory is None and not self._known:
            self._enter_unmade(opened)
            return opened
        return [self._enter_made(opened.wait(seq)) for seq in range(first_seq, self.next_seq)]

    def _enter_made(self, wait: Wait) -> Wait:
        """Take in a wait as an object: somebody holds it, or it may recall a signal."""
        if wait.given_id is not None:
            self.ids[wait.given_id] = wait
        if self.cold is not None:
            self.cold.opened(wait.keys)
            self.cold.changed.add(wait.seq)
        self.enter(wait)
        if self.memory is not None:
            looks = [self.memory.look(key) for key in wait.keys]
            for event in self.memory.recall(looks, wait.opened_at, wait):  # type: ignore[arg-type]
                if wait._ending is None:
                    hear(wait, event)
        return wait

    def _signal(
        self,
        stamp: int,
        kinds: str | list[str],
        keys: list[str],
        sources: list[str | int | None] | None,
        values: list[int | float | str | None] | None,
        ids: list[str | None] | None,
        ats: list[int | None] | None,
    ) -> int:
        before = len(self.fresh)
        if self.grace_until is None:
            self.bring_in(keys)
        is_bare = sources is None and values is None and ids is None and ats is None
        if is_bare and self.grace_until is None and self.memory is None and isinstance(kinds, str):
            self._spread_bare(stamp, kinds, keys)
            return len(self.fresh) - before
        for i, key in enumerate(keys):
            kind = kinds if isinstance(kinds, str) else kinds[i]
            if ids is not None and (given_id := ids[i]) is not None:
                self.know_signal(given_id, stamp)
            source = None if sources is None else sources[i]
            value = None if values is None else values[i]
            at = stamp if ats is None else ats[i]
            signal: list[Any] = [stamp if at is None else at, key, kind, source, value, self.next_seq]
            if self.grace_until is None:
                self._spread(*signal)
            else:
                self.held.append(signal)
        return len(self.fresh) - before

    def _spread(self, at: int, key: str, kind: str, source: Any, value: Any, before_seq: int) -> None:
        """Let a signal count for all who waited on its key when it came; if it was held, for those who recall it."""
        if self.memory is None and key not in self.by_key:
            return
        event = Event(key, kind, at, source, number_of(value))
        if self.memory is not None:
            self.memory.keep(event, self.memory.look(key))
        for wait in tuple(self._watching(key)):
            plan = wait._plan
            if kind not in plan.kinds or not (wait.seq < before_seq or self._recalls(wait, at)):
                continue
            if plan.single is not None:
                hear_single(wait, at)
            elif plan.refusal(event) is None:
                self.note_change(wait.seq)
                hear(wait, event)

    def _spread_bare(self, stamp: int, kind: str, keys: list[str]) -> None:
        """The same for many signals that have a kind and nothing else: the commonest case."""
        watching, waits, ended = self.by_key.get, self.waits, list[Wait]()
        for key in keys:
            there = watching(key)
            if there is None:
                continue
            if type(there) is int and (wait := waits[there])._plan.single == kind and len(wait.keys) == 1:
                if stamp <= wait._due:  # as `hear_single` has it: no wait is opened after the last record
                    self.unlist(key, there)  # at once: the next signal may have the same key
                    ended.append(wait)
            else:
                self._end_unlisted(ended, "completed", stamp, kind)
                ended = []
                self._spread(stamp, key, kind, None, None, self.next_seq)
        self._end_unlisted(ended, "completed", stamp, kind)

    def _recalls(self, wait: Wait, at: int) -> bool:
        """Whether a wait that came while a signal was held finds it in the memory."""
        return self.memory is not None and at >= wait.opened_at - self.memory.keep_ms

    def _extend(self, stamp: int, seq: int, deadline: int) -> bool:
        self._release(stamp)
        wait = self.get(seq)
        if wait is None or not self.can_move(wait, stamp):
            return False
        wait._extend_to(deadline, stamp)
        return True

    def _cancel(self, stamp: int, seq: int) -> bool:
        self._release(stamp)
        wait = self.get(seq)
        return wait is not None and self._cancel_one(wait, stamp)

    def _cancel_one(self, wait: Wait, stamp: int) -> bool:
        if stamp > last_instant(wait):
            return False  # it is overdue: it expires instead
        if wait._cancelled_at is None:
            self.end(wait, "cancelled", stamp, "cancel")
        else:
            self.end(wait, *unmet(wait))
        return True

    def _cancel_where(self, stamp: int, rule: str | None, key_prefix: str | None) -> int:
        self._release(stamp)
        if self.cold is None:
            return self._cancel_all(stamp, rule, key_prefix)
        self.cold.prepare(stamp)
        count = self.cold.cancel(self._where(rule, key_prefix, stamp), stamp)
        self.pending -= count
        self.counts["cancelled"] += count
        return count + self._cancel_all(stamp, rule, key_prefix)

    def _cancel_all(self, stamp: int, rule: str | None, key_prefix: str | None) -> int:
        return sum([self._cancel_one(wait, stamp) for wait in list(self.matching(rule, key_prefix))])

    def _shift(
        self,
        stamp: int,
        rule: str | None,
        key_prefix: str | None,
        by_ms: int,
        before_seq: int | None = None,
        about: list[Any] | None = None,
    ) -> int:
        self._release(stamp)
        self.shifts += 1
        last = self.next_seq if before_seq is None else before_seq
        count = 0
        if self.cold is not None and by_ms < 0:  # the index would bring them in too late: in memory they are right
            self.cold.where(self._where(rule, key_prefix))
        elif self.cold is not None:
            self.cold.prepare(stamp)
            count = self.cold.shift(self._where(rule, key_prefix, stamp), stamp, by_ms, self.shifts)
        found = [w for w in self.matching(rule, key_prefix) if w.seq < last and self.can_move(w, stamp)]
        for wait in found:
            wait._extend_to(moved_to(wait.deadline, by_ms, stamp), stamp)
        if about is None and not count + len(found):
            return 0  # with an index nobody knows before whether there is one to be moved; without, there is no record
        act, of, note = about or ("shift", None, None)
        count += len(found)
        if count or act != "shift":  # one that moved nothing is no incident
            where = rule, key_prefix, stamp, by_ms, count, self.next_seq
            self.incidents.note(Incident(self.incidents.next_number, act, *where, of, note))
            self.stopped = self.incidents.stopped
        return count

    def _tell(self, stamp: int, first_number: int, rows: list[list[Any]]) -> list[Wait]:
        if first_number != self.next_number:
            raise DamagedError(f"outcome {first_number} was told where {self.next_number} comes next: one is missing")
        told, untold, uses = [], self.untold, Counter[int]()
        if self.cold is not None:
            self.cold.to_be_told([row[0] for row in rows])
        for row in rows:
            wait = untold.pop(row[0], None) or self._expired(row[0])
            if wait is None or row[6] != wait._ending or row[7] != wait._ended_at:
                raise DamagedError(f"outcome {self.next_number} {row!r} is not what the law says of {wait!r}")
            wait._number, wait._row = self.next_number, row
            self.next_number += 1
            told.append(wait)
            if wait.given_id is None:
                uses[wait._plan_number] += 1
            else:
                self._ended_ids.append(wait)
        for number, count in uses.items():
            self._leave_plan(number, count)
        self._forget_ids(stamp)
        return told

    def leave(self, wait: Wait) -> None:
        """A wait has been told: if it was given an id, it is still known by it for a while."""
        if wait.given_id is None:
            self._leave_plan(wait._plan_number)
        else:
            self._ended_ids.append(wait)

    def _expired(self, seq: int) -> Wait | None:
        """End a wait that is told to have expired: nothing else ends what falls due."""
        wait = self.waits.get(seq)
        if wait is not None:
            self.end(wait, *unmet(wait))
            self.fresh.pop()
            del self.untold[seq]
        return wait

    def _end_grace(self, stamp: int) -> None:
        """The time for late deliveries is over."""
        self.grace_until = None
        self._release(stamp)

    def _release(self, stamp: int) -> None:
        """Let the signals held so far count, in the order of their times."""
        if self.held:
            held, self.held = sorted(self.held, key=lambda signal: signal[0]), []
            self.bring_in([signal[1] for signal in held])
            for signal in held:
                self._spread(*signal)

    def _leave_plan(self, number: int, count: int = 1) -> None:
        """Fewer waits use this plan. One that no wait uses is dropped, or their number would grow."""
        self.plan_uses[number] -= count
        if not self.plan_uses[number]:
            self._forget_plan(number)

    def _forget_plan(self, number: int) -> None:
        if not self.plan_uses[number] and number not in self.rules.values():
            del self.plan_uses[number]
            del self.plan_numbers[next(toml for toml, known in self.plan_numbers.items() if known == number)]
            del self.plans[number]

    # What is remembered

    def set_memory(self, events: Iterable[Event]) -> None:
        """Begin to remember signals as the settings say, with these."""
        keep_ms, most, *_ = self.settings
        self.memory = None if keep_ms is None else Memory(keep_ms, most)
        if self.memory is not None:
            for event in events:
                self.memory.keep(event, self.memory.look(event.key))

    def know_signal(self, given_id: str, stamp: int) -> None:
        oldest, order = stamp - self.settings.ids_ms, self._signal_order
        while order and (order[0][0] < oldest or len(order) >= self.settings.ids_most):
            self.signal_ids.discard(order.popleft()[1])
        self.signal_ids.add(given_id)
        order.append((stamp, given_id))

    def _forget_ids(self, stamp: int) -> None:
        """Let go of the ids of waits that ended long ago, or are too many."""
        oldest, ended = stamp - self.settings.ids_ms, self._ended_ids
        while ended:
            if ended[0]._ended_at >= oldest and len(ended) <= self.settings.ids_most:
                break
            wait = ended.popleft()
            self._leave_plan(wait._plan_number)
            if wait.given_id is not None and self.ids.get(wait.given_id) is wait:
                del self.ids[wait.given_id]

    def check(self) -> None:
        """Prove the invariants."""
        super().check()
        cold_plans, cancelled = (Counter[int](), 0) if self.cold is None else self.cold.check()
        assert +self.plan_uses == cold_plans + Counter(wait._plan_number for wait in self._holders_of_plans())
        told = sum(self.counts.values()) - len(self.untold) - cancelled
        assert self.next_number == told + 1

    def _holders_of_plans(self) -> Iterator[Wait]:
        yield from self.waits.looked_at()
        yield from self.untold.values()
        yield from self._ended_ids


@lru_cache(maxsize=1_000)
def plan_of(toml: str) -> WaitPlan:
    """Cached, as upkeep builds a state again and again."""
    return WaitPlan(Rule.from_toml(toml))


def number_of(value: int | float | str | None) -> int | float | Decimal | None:
    """A value as a record has it, as it was: a decimal is written as a text."""
    return Decimal(value) if isinstance(value, str) else value


def remembered(memory: Memory) -> Iterator[Event]:
    """All that a memory has kept, oldest first."""
    behind: dict[int, int] = {}
    for entry in memory._entries:
        i = behind.get(id(entry), 0)
        behind[id(entry)] = i + 1
        yield entry.value[i]
