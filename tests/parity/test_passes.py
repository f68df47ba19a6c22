"""The passes over columns, each held to a plain loop, in both builds: NumPy and Arrow, and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity import random_rules
from parity.tables import as_outcomes, as_table, by_fold, by_local
from sojourn.errors import ConfigError
from sojourn.pipeline import _build, _core, deal, local
from sojourn.pipeline.columns import outcomes, texts
from sojourn.pipeline.kernel import NEVER, passes, search
from sojourn.pipeline.results import bins
from sojourn.pipeline.schema import ENDINGS
from sojourn.rules import Rule, law, reached, seen

judge = import_module("sojourn.pipeline.kernel.judge")  # its package has a function of that name

both_builds = pytest.mark.parametrize("core", [None, _core], ids=["pure", "compiled"])
large_or_not = pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)

WORDS = [
    "",
    "a",
    "ab",
    "abc",
    "abcd",
    "1234567",
    "12345678",
    "123456789",
    "ä",
    "日本語",
    "\0",
    "a\0",
    "x" * 64,
    "x" * 65,
]
LONG = ["y" * 512, "y" * 513, "z" * 700, "z" * 300 + "!" + "z" * 399, "ß" * 400]
words = st.lists(st.sampled_from(WORDS) | st.text(max_size=20) | st.sampled_from(LONG), max_size=60)
small = st.integers(0, 6)


@contextmanager
def built(core: Any) -> Iterator[None]:
    """The pipeline with this core, or with none."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (bins, deal, judge, passes, search, texts):
            patch.setattr(module, "core", core)
        yield


def ints(values: Any) -> search.Ints:
    return np.array(values, np.int64)


def grouped(sizes: list[int]) -> search.Ints:
    return ints([0, *np.cumsum(sizes)])


def hashed(text: str) -> int:
    """What `texts.hashes` promises, byte by byte."""
    data, most = text.encode(), 2**64
    mixed = (int.from_bytes(data[-8:], "little") ^ len(data)) * 0x9E3779B97F4A7C15 % most
    for place in range(1, min(-(-len(data) // 8), 64)):
        at = place * 8 if len(data) <= 512 else len(data) * place // 64
        mixed = (mixed ^ mixed >> 29 ^ int.from_bytes(data[at - 8 : at], "little")) * 0x9E3779B97F4A7C15 % most
    return mixed


def test_the_core_is_there_and_is_what_is_used() -> None:
    assert _build.core is _core
    assert all(module.core is _core for module in (bins, deal, judge, passes, search, texts))


@pytest.mark.parametrize(("switch", "used"), [("1", "None"), ("0", "_core"), ("", "_core")])
def test_sojourn_pure_chooses_the_build(switch: str, used: str) -> None:
    look = "from sojourn.pipeline._build import core; print(core)"
    environment = os.environ | {"SOJOURN_PURE": switch}
    ended = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True, check=True)
    assert used in ended.stdout


# Texts


@both_builds
@large_or_not
@given(words, st.integers(0, 3))
def test_a_hash_depends_on_the_bytes_of_its_text_alone(core: Any, kind: pa.DataType, some: list[str], cut: int) -> None:
    with built(core):
        assert texts.hashes(pa.array(some, kind)[cut:]).tolist() == [hashed(text) for text in some[cut:]]


@both_builds
@pytest.mark.parametrize("rows", [1, 5, 1_000])
def test_shards_are_those_of_the_hashes_however_many_threads_ask(
    core: Any, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    keys = pa.array([f"case-{i}" for i in range(200)])
    with built(core):
        for shards in (1, 2, 16, 256, 65_536):
            expected = [(hashed(key) >> 32) * shards >> 32 for key in keys.to_pylist()]
            assert deal.shards_of(keys, shards).tolist() == expected
        dealt = deal.dealt_out(keys, np.arange(0, 200, 2), 16)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(0, 200, 2))
    assert all(part.dtype == np.int32 and (np.diff(part) > 0).all() for part in dealt)


@both_builds
@large_or_not
@given(words, st.randoms(use_true_random=False))
def test_codes_are_given_in_the_order_of_coming_to_texts_that_differ(
    core: Any, kind: pa.DataType, some: list[str], random: Random
) -> None:
    rows = np.array([random.randrange(len(some)) for _ in some], np.int32)
    with built(core):
        for chosen in (None, rows):
            meant = some if chosen is None else [some[row] for row in rows]
            code, names = texts.coded(pa.array(some, kind), chosen)
            known: dict[str, int] = {}
            assert code.tolist() == [known.setdefault(text, len(known)) for text in meant]
            assert names.to_pylist() == list(known)
            assert (names.type, code.dtype) == (kind, np.int32)
            names.validate(full=True)


@both_builds
@pytest.mark.parametrize("different", [1, 511, 512, 513, 5_000, 10_000, 20_000])
def test_however_many_texts_differ_each_has_one_code(core: Any, different: int) -> None:
    some = [f"key {i % different}" for i in range(20_000)]
    with built(core):
        code, names = texts.coded(pa.array(some))
    assert code.tolist() == [i % different for i in range(20_000)]
    assert names.to_pylist() == some[:different]


@both_builds
@pytest.mark.parametrize("pattern", ["{:06}", "{:08}", "case-{:08}", "{:08}" + "-" * 80])
def test_texts_that_share_half_of_a_hash_are_told_apart(core: Any, pattern: str) -> None:
    some = pa.array(pattern.format(i) for i in range(300_000))
    hashed = texts.hashes(some)
    halves = (hashed ^ hashed >> np.uint64(29)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)
    assert len(np.unique(halves)) < 300_000
    with built(core):
        code, names = texts.coded(some)
    assert code.tolist() == [*range(300_000)]
    assert names.equals(some)


@both_builds
def test_texts_that_are_sampled_alike_are_told_apart(core: Any) -> None:
    some = ["z" * 6_400 + f"{i:04}" + "z" * 6_396 for i in range(300)]
    with built(core):
        assert texts.coded(pa.array(some * 2))[0].tolist() == [*range(300)] * 2


@both_builds
@large_or_not
@given(
    st.text(max_size=5),
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(-(2**63), NEVER), st.integers(0, 120)), max_size=20),
)
def test_ids_are_made_of_name_key_time_and_ordinal(
    core: Any, kind: pa.DataType, name: str, parts: list[tuple[str, int, int]]
) -> None:
    keys, numbers, ordinals = zip(*parts, strict=True) if parts else ((), (), ())
    with built(core):
        made = texts.joined(name, pa.array(keys, kind), ints(numbers), ints(ordinals))
    made.validate(full=True)
    assert made.to_pylist() == [f"{name}/{key}/{at}{f'#{nth}' if nth > 1 else ''}" for key, at, nth in parts]


@both_builds
@large_or_not
@given(words, st.integers(0, 3), st.randoms(use_true_random=False))
def test_texts_are_taken_in_any_order(core: Any, kind: pa.DataType, some: list[str], cut: int, random: Random) -> None:
    there = pa.array(some, kind)[cut:]
    rows = random.sample(range(len(there)), len(there))
    with built(core):
        made = texts.taken(there, np.array(rows, np.int32))
        assert texts.taken(pa.array([None, "a"], kind), np.array([1, 0], np.int32)).to_pylist() == ["a", None]
    made.validate(full=True)
    assert (made.type, made.to_pylist()) == (kind, [there[row].as_py() for row in rows])


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
@given(st.lists(st.integers(-1, len(WORDS)), max_size=40))
def test_a_code_below_zero_has_no_text_and_no_text_comes_twice(dtype: Any, codes: list[int]) -> None:
    named = [*WORDS, "ab"]
    made = outcomes._repeated(np.array(codes, dtype), named)
    made.validate(full=True)
    assert made.to_pylist() == [None if code < 0 else named[code] for code in codes]
    assert made.dictionary.to_pylist() == WORDS
    assert outcomes._repeated(np.full(3, -1, dtype), []).to_pylist() == [None] * 3


# Rows


@both_builds
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.int32, np.int64])
@given(st.lists(small, max_size=60), st.randoms(use_true_random=False))
def test_rows_are_placed_by_code_and_stay_in_their_sequence(
    core: Any, dtype: Any, codes: list[int], random: Random
) -> None:
    count = len(codes)
    sequence = random.sample(range(count), count)
    with built(core):
        for turn in (None, sequence):
            turns = list(range(count)) if turn is None else turn
            order, starts = search.placed(np.array(codes, dtype), 8, None if turn is None else ints(turn))
            assert order.tolist() == sorted(turns, key=lambda row: codes[row])
            assert starts.tolist() == [sum(code < first for code in codes) for first in range(9)]
            assert order.dtype == np.int32


@both_builds
@given(st.lists(st.tuples(small, small), max_size=30), st.booleans())
def test_rows_of_one_code_are_in_the_order_of_their_times(
    core: Any, rows: list[tuple[int, int]], is_in_time: bool
) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if is_in_time else rows
    codes, at = [code for code, _ in rows], [at for _, at in rows]
    with built(core):
        order, starts = search.placed_in_time(np.array(codes, np.int32), 8, ints(at))
        assert search.ascends(ints(at), np.arange(len(at), dtype=np.int32), ints([0, len(at)])) == (at == sorted(at))
        assert search.ascends(ints(at), order, starts)
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    assert starts.tolist() == [sum(code < first for code in codes) for first in range(9)]


@both_builds
def test_more_rows_than_32_bits_can_tell_apart_are_refused(core: Any) -> None:
    search.check_rows(2**31 - 1)
    with built(core), pytest.raises(ConfigError, match="2,147,483,648 rows at once are too many; 2,147,483,647 fit"):
        search.placed(np.empty(2**31, np.uint8), 1)  # never looked at, so it takes no memory
    with pytest.raises(OverflowError, match="2,147,483,648 rows at once are too many"):
        _core.check_rows(2**31)


# The kernel


@both_builds
@given(st.lists(small, max_size=10), st.data())
def test_groups_instants_and_what_is_marked_are_as_a_loop_finds_them(
    core: Any, sizes: list[int], data: st.DataObject
) -> None:
    starts, count = grouped(sizes), sum(sizes)
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    at = data.draw(st.lists(small, min_size=count, max_size=count))
    at = [time for _, time in sorted(zip(group, at, strict=True))]
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    with built(core):
        assert passes.groups(starts, count).tolist() == group
        instants = passes.instants(ints(at), starts).tolist()
        rows, times, before = passes.marked(flags, ints(at))
        again = np.array([row % 2 == 0 for row in rows], bool)
        kept, kept_times, kept_before = passes.narrowed(rows, times, again, count)
    pairs = list(zip(group, at, strict=True))
    assert instants == [pairs.index(pair) for pair in pairs]
    expected = [row for row in range(count) if flags[row]]
    assert (rows.tolist(), times.tolist()) == (expected, [at[row] for row in expected])
    assert before.tolist() == [sum(row < place for row in expected) for place in range(count + 1)]
    expected = [row for row in expected if row % 2 == 0]
    assert (kept.tolist(), kept_times.tolist()) == (expected, [at[row] for row in expected])
    assert kept_before.tolist() == [sum(row < place for row in expected) for place in range(count + 1)]


@both_builds
@given(st.lists(st.lists(small, max_size=6).map(sorted), max_size=6), st.data())
def test_searches_in_ranges_find_what_a_loop_finds(core: Any, ranges: list[list[int]], data: st.DataObject) -> None:
    at, bounds = ints([*chain.from_iterable(ranges)]), grouped(list(map(len, ranges)))
    low, high = bounds[:-1], bounds[1:]
    until = data.draw(st.lists(st.integers(-1, 7), min_size=len(ranges), max_size=len(ranges)))
    nth = data.draw(st.sampled_from([1, 2, 3, 2**40, 2**63 - 1]))
    with built(core):
        counts = search.count_until(at, low, high, ints(until))
        times = passes.nth_times(at, low, high, nth, ints(until), NEVER)
        crossed = search.count_until(at, high, low, ints(until))
    assert counts.tolist() == [sum(time <= end for time in part) for part, end in zip(ranges, until, strict=True)]
    assert crossed.tolist() == [0] * len(ranges)
    assert times.tolist() == [
        max(part[nth - 1], opened) if nth <= len(part) else NEVER for part, opened in zip(ranges, until, strict=True)
    ]


@both_builds
@pytest.mark.parametrize("wide", [0, 2**40], ids=["dense", "wide"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@given(st.lists(small, max_size=8), st.data())
def test_the_one_before_of_the_same_source_is_in_the_same_group(
    core: Any, dtype: Any, wide: int, sizes: list[int], data: st.DataObject
) -> None:
    starts, count = grouped(sizes), sum(sizes)
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    before = np.append(0, np.cumsum(flags))
    rows = np.flatnonzero(flags).tolist()
    sources = data.draw(st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows)))
    spread = np.array(sources, dtype) * (wide if dtype == np.int64 else 1) if wide else np.array(sources, dtype)
    with built(core):
        found = passes.previous(before, starts, spread)
    pairs = [(group[row], source) for row, source in zip(rows, sources, strict=True)]
    assert found.tolist() == [
        max((j for j in range(i) if pairs[j] == pair), default=-1) for i, pair in enumerate(pairs)
    ]


# Whole logs


@both_builds
@pytest.mark.parametrize("rows", [3, 50, 100_000])
@pytest.mark.parametrize("seed", range(10))
def test_the_local_engine_decides_as_the_fold(core: Any, seed: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(10)]
    log = random_rules.log(random, 300)
    as_of = random_rules.as_of(random)
    with built(core):
        assert by_local(rules, log, as_of=as_of) == by_fold(rules, log, as_of)


@both_builds
@pytest.mark.parametrize("rows", [5, 100_000])
def test_keys_of_every_form_are_the_same_keys(core: Any, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    random = Random(5)
    keys = [*WORDS, *LONG, None]
    log = pa.table(
        {
            "key": pa.array([random.choice(keys) for _ in range(400)]),
            "kind": pa.array([random.choice(["open", "a", "b"]) for _ in range(400)]),
            "at": pa.array([random.randrange(40) for _ in range(400)]),  # in no order, many at one instant
            "source": pa.array([random.choice(["", "x", "ß"]) for _ in range(400)]),
            "value": pa.array([random.randrange(5) for _ in range(400)]),
        }
    )
    rules = [
        Rule("each", "open", seen("a", times=2, distinct="source"), within=9, per="each"),
        Rule("level", "open", reached("b", at_least=3, by=2), within=20, cancels="a"),
    ]
    plain = log["key"]
    forms = {
        "chunked": pa.chunked_array(
            [plain[:7].combine_chunks(), plain[7:7].combine_chunks(), plain[7:].combine_chunks()]
        ),
        "large": plain.cast(pa.large_string()),
        "dictionary": plain.combine_chunks().dictionary_encode(),
        "slice": pa.concat_arrays([pa.array(["before"]), plain.combine_chunks()])[1:],
        "view": plain.cast(pa.string_view()),
    }
    with built(None):
        expected = local.outcomes(log, rules, unit="ms", as_of="complete")
    assert expected.quarantine.num_rows > 0 < expected.outcomes.num_rows
    for name, form in forms.items():
        with built(core):
            result = local.outcomes(log.set_column(0, "key", form), rules, unit="ms", as_of="complete")
        assert as_outcomes(result.outcomes) == as_outcomes(expected.outcomes), name
        assert result.quarantine.num_rows == expected.quarantine.num_rows, name


@both_builds
def test_one_key_and_no_rows_are_logs_too(core: Any) -> None:
    rule = Rule("r", "open", seen("a", times=3), within=10)
    one = pa.table({"key": ["k"] * 5, "kind": ["a", "a", "open", "a", "a"], "at": [5, 7, 5, 5, 9]})
    with built(core):
        (outcome,) = as_outcomes(local.outcomes(one, rule, unit="ms").outcomes)
        assert as_outcomes(local.outcomes(as_table([]), rule).outcomes) == []
    assert (outcome.operation_id, outcome.outcome, outcome.at) == ("r/k/5", "completed", 7)


# Verdicts and results

moments = st.integers(0, 6) | st.just(NEVER)


@both_builds
@given(st.lists(st.tuples(moments, moments, st.integers(0, 6)), max_size=30), st.none() | st.integers(0, 6))
def test_a_verdict_is_that_of_the_law(core: Any, rows: list[tuple[int, int, int]], as_of: int | None) -> None:
    met_at, cancelled_at, deadline = (ints([row[place] for row in rows]) for place in range(3))
    with built(core):
        ending, at = judge.verdict(met_at, cancelled_at, deadline, as_of)
        apart = judge.verdict(np.stack([met_at, met_at], axis=1)[:, 0], cancelled_at, deadline, as_of)
    known = [[None if time == NEVER else time for time in row] for row in rows]
    expected = [law.standing(*law.verdict(met, cancelled, due or 0), as_of) for met, cancelled, due in known]
    assert [(ENDINGS[code], when) for code, when in zip(ending.tolist(), at.tolist(), strict=True)] == expected
    assert [column.tolist() for column in apart] == [ending.tolist(), at.tolist()]


@both_builds
@given(st.lists(st.tuples(st.integers(-(2**62), 2**62) | small, st.integers(0, 2)), max_size=30))
def test_values_are_counted_in_the_same_intervals(core: Any, rows: list[tuple[int, int]]) -> None:
    values, classes = (ints([row[place] for row in rows]) for place in range(2))
    expected = bins.Bins.of(values, classes, 3)
    with built(core):
        found = bins.Bins.of(values, classes, 3)
        for level in range(bins.GRID.levels):
            every_other = bins.GRID.place(np.repeat(values, 2)[::2], level)
            assert every_other.tolist() == bins.GRID.place(values, level).tolist()
    assert (found.level, found.places.tolist()) == (expected.level, expected.places.tolist())
    assert found.counts.tolist() == expected.counts.tolist()
