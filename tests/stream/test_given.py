"""Operations from a stream of their own against the law: cut anywhere, shuffled within `late`, sent more than once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from parity import random_rules
from parity.operations import Given, by_law, operations
from parity.operations import as_table as as_operations
from parity.tables import as_outcomes, as_table
from sojourn import ConfigError
from sojourn.pipeline.columns.numbers import number_type
from sojourn.pipeline.columns.reasons import GIVEN_TWICE
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.spark.spread import spread
from sojourn.pipeline.stream.given.home import tell
from sojourn.pipeline.stream.given.meet import meet
from sojourn.pipeline.stream.given.pack import OPENED, WATCHED, PackEvents, PackOperations
from sojourn.pipeline.stream.given.terms import HOME, NAMES, OPENINGS, WATCHES, Terms, check_rule
from sojourn.pipeline.stream.shard.pack import ASIDE, EVENTS, SET_ASIDE, SHARD, from_bytes
from sojourn.pipeline.stream.shard.segment import Kept, Segment
from sojourn.pipeline.stream.shard.shape import nothing
from sojourn.rules import Event, Outcome, Reached, Rule, all_of, any_of, reached, seen, total
from stream.shards import NEVER_LATE
from stream.test_shard_parity import as_told

SHARDS = 2
RULES = [
    Rule("r", "open", seen("a", times=2), within=3),
    Rule("r", "open", seen("a", times=2, distinct="source"), within=3, cancels="stop"),
    Rule("r", "open", all_of("a", total("b", at_least=1)), within=3, cancels="stop"),
    Rule("r", "open", reached("b", at_least=0.6, by=2), within=3, cancels="stop"),
    Rule("r", "open", any_of(all_of("a", "c"), reached("b", at_least=1)), within=3),
    Rule("r", "open", None, within=3, cancels="stop"),
    Rule("r", "a", "a", within=3),
]


class Run:
    """The two steps over dicts of logs, which forget what is not in bytes now and then."""

    def __init__(self, rule: Rule, random: Random, source: str | None = None) -> None:
        plan = Plan.of(rule, "ms", source=source)
        self.terms = Terms(plan, {name: number_type(pa.float64()) for name in plan.numbers})
        self._random = random
        self._bytes: dict[int, bytes] = {}
        self.meeting = [Kept(self.terms.meeting, []) for _ in range(SHARDS)]
        self.names = [Kept(NAMES, []) for _ in range(SHARDS)]
        self.home = [Kept(self.terms.home, []) for _ in range(SHARDS)]
        self.told: list[Outcome] = []
        self.aside: list[str] = []
        self.opened = 0

    def step(self, log: Sequence[Event], given: Sequence[Given], watermark: int) -> None:
        events, openings = self._met(log, given, watermark)
        for shard in range(SHARDS):
            handed = [rows.filter(pa.array(home == shard)) for rows, home in events]
            mine = openings.filter(pc.equal(openings[HOME], shard))
            rows = pa.concat_batches([nothing(self.terms.home.fresh), *handed])
            assert pc.min(rows["at"]).as_py() is None or pc.min(rows["at"]).as_py() >= watermark
            told = tell(self.terms, self._names(shard), self._home(shard), rows, mine, watermark)
            self.names[shard], self.home[shard] = self._saved(told.names), self._saved(told.kept)
            self.told += as_outcomes(told.outcomes)
            self.aside += told.aside["reason"].to_pylist()
            self.opened += told.opened

    def _met(self, log: Sequence[Event], given: Sequence[Given], watermark: int) -> tuple[list[Any], pa.RecordBatch]:
        table, asked = as_table(log), as_operations(given)
        payloads = PackEvents(self.terms, table.schema, SHARDS).payloads(table).to_pylist()
        payloads += PackOperations(self.terms.plan, asked.schema, SHARDS).payloads(asked).to_pylist()
        events, openings = [], nothing(OPENINGS)
        for shard, number in enumerate(spread(np.arange(SHARDS))):
            mine = [payload for payload in payloads if payload[SHARD] == number]
            fresh = _joined(mine, EVENTS, self.terms.fresh)
            met = meet(self.terms, self._meeting(shard), fresh, _joined(mine, WATCHED, WATCHES), watermark)
            self.meeting[shard] = self._saved(met.kept)
            events.append((met.handed, met.home))
            openings = pa.concat_batches([openings, _joined(mine, OPENED, OPENINGS)])
            self.aside += [r for p in mine if p[ASIDE] for r in from_bytes(p[ASIDE], SET_ASIDE)["reason"].to_pylist()]
        return events, openings

    def _meeting(self, shard: int) -> Kept:
        return self._read(self.terms.meeting, self.meeting[shard])

    def _names(self, shard: int) -> Kept:
        return self._read(NAMES, self.names[shard])

    def _home(self, shard: int) -> Kept:
        return self._read(self.terms.home, self.home[shard])

    def _read(self, shape: Any, kept: Kept) -> Kept:
        if self._random.random() < 0.5:
            return kept
        numbers = [segment.number for segment in kept.segments]
        return Kept(shape, [Segment.from_bytes(shape, self._bytes[number], number) for number in numbers])

    def _saved(self, kept: Kept) -> Kept:
        self._bytes |= kept.added
        return kept


def _joined(payloads: Sequence[Any], column: str, schema: pa.Schema) -> pa.RecordBatch:
    parts = [from_bytes(payload[column], schema) for payload in payloads if payload[column] is not None]
    return pa.concat_batches([nothing(schema), *parts])


def check(run: Run, rule: Rule, log: list[Event], given: list[Given], late: int, random: Random) -> None:
    """After each micro-batch, what has been told is what ends before the watermark: neither more nor less."""
    decided = sorted(map(as_told, by_law([rule], given, log)))
    rows = sorted([*log, *given], key=lambda row: _time(row) + random.uniform(0, late))
    watermark = -NEVER_LATE
    while rows:
        count = random.choice([0, 1, 1, 2, 3, len(rows) // 2])
        batch, rows = rows[:count], rows[count:]
        events = [row for row in batch if isinstance(row, Event)]
        run.step(events, [row for row in batch if isinstance(row, Given)], watermark)
        assert sorted(run.told) == [each for each in decided if each.at is not None and each.at < watermark]
        watermark = max([watermark, *(_time(row) - late for row in batch)])
    for _ in range(2):
        run.step([], [], NEVER_LATE)
    assert sorted(run.told) == decided
    if not any(isinstance(leaf, Reached) for leaf in rule.leaves):
        assert not any(map(holds_something, run.meeting))
    assert not any(map(holds_something, run.home))


def holds_something(kept: Kept) -> bool:
    return any(row["events"] or row["operations"] for rows in kept.valid_rows() for row in rows.to_pylist())


def _time(row: Any) -> int:
    return int(row.at if isinstance(row, Event) else row.opened_at)


def usable(random: Random, size: int) -> list[Event]:
    return [event for event in random_rules.log(random, size) if event not in random_rules.UNUSABLE]


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_operations_on_several_keys_end_as_the_law_says_as_soon_as_it_is_final(rule: Rule, seed: int) -> None:
    random = Random(seed)
    log, given = usable(random, 60), operations(random, [rule], 20, most_keys=4)
    run = Run(rule, random)
    check(run, rule, log, given, random.randrange(5), random)
    assert run.aside == []
    assert run.opened == len(given)


@pytest.mark.parametrize("seed", range(3))
def test_where_the_keys_are_the_sources_each_key_is_another(seed: int) -> None:
    random = Random(seed)
    rule = Rule("r", "open", seen("a", times=2, distinct="source"), within=3)
    log = [event._replace(source=event.key) for event in usable(random, 80)]
    check(Run(rule, random, source="key"), rule, log, operations(random, [rule], 25, most_keys=4), 2, random)


@pytest.mark.parametrize("seed", range(5))
def test_of_operations_with_one_id_the_first_has_it_however_they_arrive(seed: int) -> None:
    random = Random(seed)
    rule = RULES[0]
    given = operations(random, [rule], 20, most_keys=3)
    rivals = [each._replace(operation_id=f"op-{i % 5}") for i, each in enumerate(operations(random, [rule], 15, 3))]
    again = random.choices(given, k=5)
    everyone = [*given, *rivals, *again]
    run = Run(rule, random)
    first = {}
    for each in sorted(everyone, key=lambda each: (each.opened_at, each.within, [k.encode() for k in each.keys])):
        first.setdefault(each.operation_id, each)
    log = usable(random, 80)
    decided = sorted(map(as_told, by_law([rule], list(first.values()), log)))
    rows = sorted([*log, *everyone], key=lambda row: _time(row) + random.uniform(0, 2))
    watermark = -NEVER_LATE
    while rows:
        count = random.choice([1, 2, 3, 10])
        batch, rows = rows[:count], rows[count:]
        late = [row for row in batch if _time(row) < watermark]
        assert not late
        given_now = [row for row in batch if isinstance(row, Given)]
        run.step([row for row in batch if isinstance(row, Event)], given_now, watermark)
        assert sorted(run.told) == [each for each in decided if each.at is not None and each.at < watermark]
        watermark = max([watermark, *(_time(row) - 2 for row in batch)])
    run.step([], [], NEVER_LATE)
    run.step([], [], NEVER_LATE)
    assert sorted(run.told) == decided
    assert run.aside == [GIVEN_TWICE] * (len(everyone) - len(first))


def test_a_level_that_several_sources_reached_long_before_holds_from_the_opening_on() -> None:
    run = Run(Rule("r", "open", reached("b", at_least=1, by=2), within=3), Random(1))
    run.step(
        [Event("k", "b", 1, "x", 1.0), Event("k", "b", 2, "y", 1.0), Event("k", "b", 3, "z", 1.0)], [], -NEVER_LATE
    )
    run.step([], [], 50)
    run.step([], [Given("late to it", "r", ["k"], 60, 5)], 51)
    run.step([], [], 100)
    assert [(each.operation_id, each.outcome, each.at) for each in run.told] == [("late to it", "completed", 60)]


@pytest.mark.parametrize("first", [2, 9])
def test_operations_that_differ_in_their_deadlines_alone_are_rivals(first: int) -> None:
    run = Run(Rule("r", "open", "a", within=3), Random(1))
    run.step([], [Given("o", "r", ["k"], 10, first)], 5)
    run.step([], [Given("o", "r", ["k"], 10, 11 - first)], 6)
    run.step([], [], 100)
    assert [(each.outcome, each.at) for each in run.told] == [("expired", 12)]
    assert run.aside == [GIVEN_TWICE]


def test_what_such_a_stream_cannot_do_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="keeps operations alive with 'beat': in a stream of operations"):
        check_rule(Rule("r", "open", within=3, keeps_alive="beat"))
    with pytest.raises(ConfigError, match="whether 'b' has reached a level, and for 'b' otherwise"):
        check_rule(Rule("r", "open", all_of("b", reached("b", at_least=1)), within=3))
