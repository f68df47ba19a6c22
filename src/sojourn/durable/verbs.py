"""What the verbs of a durable hub do when their turn comes: each becomes one record, or is refused before anything is.

Arguments are checked in the caller's thread (`door.py`). What depends on the state (ids, limits, rules) is looked at in
a function that the engine calls, in order, with the time of the call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ConfigError, HubFullError, IdTakenError, NotStorableError, RuleError
from ..hub._ids import taken
from ..hub._plan import check_several, refused
from ..rules import Event, Rule
from ..rules.duration import Duration, duration_ms
from . import door
from .acts import Acts, check_note
from .engine import Engine
from .log import records as r
from .state.state import State, number_of
from .state.wait import Wait

PLANS_KEPT = 1_000
"""Beyond that all texts go, and are made again when needed."""
PLAIN = {str, int, type(None)}
"""Arguments that can be compared without calling anybody's own code; others are alike if they are the same objects."""


class Verbs:
    """Makes the functions that an engine calls."""

    def __init__(self, engine: Engine, max_pending: int | None) -> None:
        self._engine = engine
        self._max_pending = max_pending
        self._texts: dict[Any, tuple[str, int]] = {}
        self.acts = Acts(engine)

    @property
    def _state(self) -> State:
        return self._engine.state

    # Rules

    def register(self, rule: Rule) -> Callable[[int], None]:
        text = door.check_rule(rule).to_toml()
        return lambda stamp: self._registered(rule, text, stamp)

    def _registered(self, rule: Rule, text: str, stamp: int) -> None:
        name = rule.name
        if rule.keeps_alive is not None and name in self._state.stopped:
            raise ConfigError(f"the clock of rule {name!r} is stopped, and signals would set it; resume it first")
        number = self._state.plan_numbers.get(text)
        if number is None or self._state.rules.get(name) != number:
            self._engine.record(r.RULE, [stamp, number or self._state.next_plan, text, True])

    def _plan(self, until: Any, within: Any, rule: Any) -> tuple[int, int, str | None]:
        """The number of the plan that these ask for, how long it gives, and its text if it may have to be recorded."""
        if isinstance(rule, str):
            if until is not None or within is not None:
                raise RuleError(f"until or within beside rule {rule!r}, which says both itself: leave them out")
            if rule not in self._state.rules:
                known = ", ".join(self._state.rules) or "none"
                raise RuleError(f"rule {rule!r} is not registered; known are: {known}; register it first", "rule")
            number = self._state.rules[rule]
            return number, self._state.plans[number].within_ms, None
        text, within_ms = self._text(until, within, rule)
        return self._state.plan_numbers.get(text, self._state.next_plan), within_ms, text

    def _record_plan(self, text: str | None, rule: Any, stamp: int) -> None:
        """Make a plan known, now that nothing is refused any more."""
        if text is None:
            return
        if rule is not None:
            self._registered(rule, text, stamp)
        elif text not in self._state.plan_numbers:
            self._engine.record(r.RULE, [stamp, self._state.next_plan, text, False])

    def _text(self, until: Any, within: Any, rule: Any) -> tuple[str, int]:
        asked = (until, within, type(within), rule)
        try:
            found = self._texts.get(asked)
        except TypeError:  # not hashable, so not kept
            return door.rule_text(until, within, rule)
        if found is None:
            if len(self._texts) > PLANS_KEPT:
                self._texts = {}
            found = self._texts[asked] = door.rule_text(until, within, rule)
        return found

    # Waits

    def wait_many(
        self,
        keys: Iterable[str | list[str]],
        until: Any,
        within: Any,
        rule: Any,
        ids: Iterable[str | None] | None,
        payloads: Iterable[Any] | None,
    ) -> Callable[[int], list[Wait]]:
        check_several(keys)
        key_column = [key if type(key) is str else door.keys_of(key) for key in keys]
        id_column = door.column("ids", ids, len(key_column))
        payload_column = door.column("payloads", payloads, len(key_column))
        if id_column is not None:
            id_column = [door.id_text("id", given) for given in id_column]
        if payload_column is not None:
            payload_column = [door.payload_copy(payload) for payload in payload_column]

        return lambda stamp: self.opened(until, within, rule, key_column, id_column, payload_column, stamp)

    def wait(
        self, key: str | list[str], until: Any, within: Any, rule: Any, given_id: str | None, payload: Any
    ) -> OneWait:
        key = key if type(key) is str else door.keys_of(key)
        return OneWait(self, (until, within, rule), key, door.id_text("id", given_id), door.payload_copy(payload))

    def opened(
        self,
        until: Any,
        within: Any,
        rule: Any,
        keys: list[str | list[str]],
        ids: list[str | None] | None,
        payloads: list[Any] | None,
        stamp: int,
    ) -> list[Wait]:
        """In the hub's turn: a wait for each key, all or none."""
        plan_number, within_ms, text = self._plan(until, within, rule)
        batch = Batch(plan_number, within_ms, rule, keys, ids, payloads)
        batch.check(self._state)
        self._check_room(len(batch.new))
        opened: list[Wait] = []
        if batch.new:
            self._record_plan(text, rule, stamp)
            record = [stamp, self._state.next_seq, *batch.columns()]
            opened = self._state.handles(self._engine.record(r.WAIT, record))
            if self._state.stopped:
                self.acts.hold(opened, stamp)
        return batch.waits(opened)

    def _check_room(self, more: int) -> None:
        pending = self._state.pending
        if self._max_pending is not None and pending + more > self._max_pending:
            raise HubFullError(
                f"hub {self._engine.name!r} holds {pending:,} pending waits, and max_pending allows "
                f"{self._max_pending:,}; let some end, or allow more"
            )

    def extend(self, wait: Wait | str, within: Duration) -> Callable[[int], bool]:
        ms, asked = duration_ms(within), asked_for(wait)

        def perform(stamp: int) -> bool:
            found = self.pending(asked)
            if found is None:
                return False
            return bool(self._engine.record(r.EXTEND, [stamp, found.seq, self.acts.deadline(found.rule, stamp, ms)]))

        return perform

    def cancel(self, wait: Wait | str) -> Callable[[int], bool]:
        asked = asked_for(wait)

        def perform(stamp: int) -> bool:
            found = self.pending(asked)
            return found is not None and bool(self._engine.record(r.CANCEL, [stamp, found.seq]))

        return perform

    def pending(self, wait: Wait | str) -> Wait | None:
        found = self._state.get(wait.seq) if isinstance(wait, Wait) else self._state.find(wait)
        return None if found is None or found._ending is not None else found

    def cancel_where(self, rule: str | None, key_prefix: str | None, dry_run: bool) -> Callable[[int], int]:
        check_where(rule, key_prefix)

        def perform(stamp: int) -> int:
            if dry_run:
                return self._state.count_matching(rule, key_prefix, stamp, lambda wait: stamp <= wait._due)
            if not self._state.has_matching(rule, key_prefix):
                return 0
            return int(self._engine.record(r.CANCEL_WHERE, [stamp, rule, key_prefix]))

        return perform

    def shift(
        self, rule: str | None, key_prefix: str | None, by: Duration, dry_run: bool, note: str | None = None
    ) -> Callable[[int], int]:
        check_where(rule, key_prefix)
        about = [] if check_note(note) is None else [None, ["shift", None, note]]
        ms = door.by_ms(by)

        def perform(stamp: int) -> int:
            state = self._state
            if dry_run:
                return state.count_matching(rule, key_prefix, stamp, lambda wait: state.can_move(wait, stamp))
            if not state.has_matching(rule, key_prefix):
                return 0
            return int(self._engine.record(r.SHIFT, [stamp, rule, key_prefix, ms, *about]))

        return perform

    # Signals

    def signal_many(
        self,
        signals: Iterable[Event | tuple[Any, ...]],
        ids: Iterable[str | None] | None,
        ats: Iterable[int | None] | None,
    ) -> Callable[[int], int]:
        given_signals = list(signals)
        bare = door.bare_columns(given_signals) if ids is None and ats is None else None
        if bare is not None:
            return lambda stamp: self._signalled_bare(given_signals, bare, stamp)
        rows = [door.signal_of(signal) for signal in given_signals]
        id_column = door.column("ids", ids, len(rows))
        if id_column is not None:
            id_column = [door.id_text("id", given) for given in id_column]
        at_column = door.column("ats", ats, len(rows))

        def perform(stamp: int) -> int:
            chosen, given = rows, [id_column, at_column]
            if at_column is not None:
                self._check_times(at_column)
            if id_column is not None:
                places = new_ids(id_column, self._state.signal_ids)
                chosen = [rows[i] for i in places]
                given = [None if column is None else [column[i] for i in places] for column in given]
            if not chosen:
                return 0
            self._check_readable(chosen, stamp)
            return int(self._engine.record(r.SIGNAL, [stamp, *signal_columns(chosen), *given]))

        return perform

    def _signalled_bare(self, signals: list[Any], columns: list[Any], stamp: int) -> int:
        self._check_readable([(*signal, None, None) for signal in signals] if self._state.reads_values else [], stamp)
        return int(self._engine.record(r.SIGNAL, [stamp, *columns, None, None]))

    def _check_times(self, ats: Sequence[int | None]) -> None:
        state = self._state
        for at in ats:
            if at is None:
                continue
            if state.grace_until is None:
                raise ConfigError(
                    f"at={at!r}: a signal brings its own time only during recover_grace, after a start; leave it out"
                )
            started = state.grace_until - state.settings.grace_ms
            if type(at) is not int or not 0 <= at <= started:
                raise NotStorableError(
                    f"at={at!r} is not a time in epoch milliseconds up to {started}, when the hub started; leave it out"
                )

    def _check_readable(self, rows: list[Any], stamp: int) -> None:
        """Refuse signals that a rule of those who wait cannot read, before anybody has heard of them."""
        if not self._state.reads_values:
            return
        self._state.bring_in([row[0] for row in rows])
        for key, kind, source, value in rows:
            event = Event(key, kind, stamp, source, number_of(value))
            for wait in self._state.watching(key):
                if kind in wait._plan.kinds and (reason := wait._plan.refusal(event)) is not None:
                    raise refused(event, reason)


class OneWait:
    """Opens one wait. Those of several callers that are alike, and of the same time, become one record."""

    __slots__ = ("_asked", "_given_id", "_key", "_payload", "_verbs", "likeness")

    def __init__(self, verbs: Verbs, asked: tuple[Any, Any, Any], key: Any, given_id: str | None, payload: Any) -> None:
        self._verbs, self._asked = verbs, asked
        self._key, self._given_id, self._payload = key, given_id, payload
        self.likeness = asked if PLAIN.issuperset(map(type, asked)) else tuple(map(id, asked))

    def __call__(self, stamp: int) -> list[Wait]:
        (opened,) = self.together([self], stamp)
        return opened

    def together(self, alike: list[OneWait], stamp: int) -> list[list[Wait]]:
        """What each of these asks for; nothing, if one of them is refused."""
        keys = [one._key for one in alike]
        ids = column_of([one._given_id for one in alike])
        payloads = column_of([one._payload for one in alike])
        return [[wait] for wait in self._verbs.opened(*self._asked, keys, ids, payloads, stamp)]


def column_of(values: list[Any]) -> list[Any] | None:
    """No column, where there is nothing in it."""
    return None if values.count(None) == len(values) else values


class Batch:
    """Waits that are opened together, without those that are known already."""

    def __init__(
        self, plan_number: int, within_ms: int, rule: Any, keys: list[Any], ids: list[Any] | None, payloads: Any
    ) -> None:
        self._plan_number, self._within_ms, self._rule = plan_number, within_ms, rule
        self._keys, self._ids, self._payloads = keys, ids, payloads
        self._known: dict[int, Wait | int] = {}
        """By place in the batch: the wait that has the id already, or the place of an earlier one with the same id."""
        self.new: Sequence[int] = range(len(keys))

    def check(self, state: State) -> None:
        """Find those that are known; `IdTakenError` if one of them is another wait."""
        if self._ids is None:
            return
        places: dict[str, int] = {}
        for i, given_id in enumerate(self._ids):
            if given_id is None:
                continue
            if (wait := state.of_id(given_id)) is not None:
                self._check_same(wait, i)
                self._known[i] = wait
            elif (earlier := places.setdefault(given_id, i)) != i:
                self._check_same_here(earlier, i)
                self._known[i] = earlier
        if self._known:
            self.new = [i for i in range(len(self._keys)) if i not in self._known]

    def columns(self) -> list[Any]:
        chosen = [self._keys, self._ids, self._payloads]
        if len(self.new) < len(self._keys):
            chosen = [None if column is None else [column[i] for i in self.new] for column in chosen]
        return [self._plan_number, self._within_ms, *chosen]

    def waits(self, opened: list[Wait]) -> list[Wait]:
        """One for each key."""
        if not self._known:
            return opened
        by_place: dict[int, Wait] = dict(zip(self.new, opened, strict=True))
        for i, known in self._known.items():
            by_place[i] = known if isinstance(known, Wait) else by_place[known]
        return [by_place[i] for i in range(len(self._keys))]

    def _check_same(self, wait: Wait, i: int) -> None:
        key = self._keys[i]
        keys = (key,) if isinstance(key, str) else tuple(key)
        is_same_rule = (
            wait.rule == self._rule
            if isinstance(self._rule, str)
            else (wait._plan_number, wait.within_ms) == (self._plan_number, self._within_ms)
        )
        payload = None if self._payloads is None else self._payloads[i]
        if wait.keys != keys or not is_same_rule or not door.is_same_json(wait.payload, payload):
            raise taken(wait.given_id, wait.keys, wait.rule, wait.within_ms, f", with {_described(wait.payload)}")

    def _check_same_here(self, earlier: int, i: int) -> None:
        assert self._ids is not None
        payloads = self._payloads or {earlier: None, i: None}
        if self._keys[earlier] != self._keys[i] or not door.is_same_json(payloads[earlier], payloads[i]):
            raise IdTakenError(f"id={self._ids[i]!r} is given to two different waits; use another id for one of them")


def _described(payload: Any) -> str:
    return "no payload" if payload is None else f"payload {json.dumps(payload, ensure_ascii=False)[:200]}"


def signal_columns(rows: list[Any]) -> list[Any]:
    """Kinds (one, if all are alike), keys, sources and values; columns without anything in them are left out."""
    keys, kinds, sources, values = map(list, zip(*rows, strict=True))
    return [
        kinds[0] if kinds.count(kinds[0]) == len(kinds) else kinds,
        keys,
        column_of(sources),
        column_of(values),
    ]


def new_ids(ids: list[str | None], known: set[str]) -> list[int]:
    """The places of those that nobody has said before."""
    seen: set[str] = set()
    places = []
    for i, given in enumerate(ids):
        if given is None or (given not in known and given not in seen):
            places.append(i)
            seen.add(given or "")
    return places


def asked_for(wait: Wait | str) -> Wait | str:
    """A wait, or what may be the id of one."""
    return wait if isinstance(wait, Wait) else door.asked_id(wait)


def check_where(rule: object, key_prefix: object) -> None:
    if rule is None and key_prefix is None:
        raise ConfigError("neither rule nor key_prefix: that would be every wait; say so with key_prefix=''")
    for name, value in (("rule", rule), ("key_prefix", key_prefix)):
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{name}={value!r} must be a text")
