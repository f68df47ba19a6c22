"""The local engine against the fold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parity import random_rules
from parity.tables import as_outcomes, as_table, by_fold, by_local, set_aside_by_fold
from rules.strategies import MANY, ends, logs_of_two_keys, rules
from sojourn import ConfigError
from sojourn.pipeline import deal, local
from sojourn.rules import AsOf, Event, Rule


@MANY
@given(rules, logs_of_two_keys, ends, st.randoms(use_true_random=False))
def test_the_local_engine_decides_as_the_fold_in_whatever_order_the_log_comes_and_wherever_it_ends(
    rule: Rule, log: list[Event], as_of: AsOf, random: Random
) -> None:
    assert by_local([rule], random.sample(log, len(log)), as_of=as_of) == by_fold([rule], log, as_of)


@pytest.mark.parametrize("seed", range(20))
def test_many_rules_in_one_pass_decide_as_the_fold_one_by_one(seed: int) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(15)]
    log = random_rules.log(random, random.choice([10, 100, 400]))
    as_of = random_rules.as_of(random)
    assert by_local(rules, log, as_of=as_of) == by_fold(rules, log, as_of)


@pytest.mark.parametrize("seed", range(10))
def test_what_the_fold_sets_aside_the_local_engine_sets_aside(seed: int) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(5)]
    log = random_rules.log(random, 100)
    aside = local.outcomes(as_table(log), rules, unit="ms").quarantine
    assert sorted(aside["rule"].to_pylist()) == sorted(name for name, _ in set_aside_by_fold(rules, log))


def test_a_log_without_events_has_no_outcomes() -> None:
    result = local.outcomes(as_table([]), Rule("r", "open", "a", within=1))
    assert as_outcomes(result.outcomes) == []
    assert result.quarantine.num_rows == 0


@pytest.mark.parametrize("rows", [1, 3, 50])
@pytest.mark.parametrize("seed", range(10))
def test_shards_of_whatever_size_decide_as_the_fold(seed: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(5)]
    log = random_rules.log(random, 200)
    as_of = random_rules.as_of(random)
    assert by_local(rules, log, as_of=as_of) == by_fold(rules, log, as_of)


@pytest.mark.parametrize("index", [pa.int32(), pa.uint8(), pa.int64()])
@pytest.mark.parametrize("seed", range(5))
def test_words_that_come_as_dictionaries_are_read_as_texts_are(seed: int, index: pa.DataType) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(8)]
    plain = as_table(random_rules.log(random, 200))
    plain = plain.set_column(1, "kind", _with_gaps(plain["kind"]))
    encoded = pa.concat_tables(_encoded(part, index) for part in (plain[:70], plain[70:]))
    expected, found = (local.outcomes(table, rules, unit="ms") for table in (plain, encoded))
    assert as_outcomes(found.outcomes) == as_outcomes(expected.outcomes)
    assert found.quarantine.num_rows == expected.quarantine.num_rows > 0


def _with_gaps(words: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if i % 9 == 0 else word for i, word in enumerate(words.to_pylist())], pa.string())


def _encoded(table: pa.Table, index: pa.DataType) -> pa.Table:
    for name in ("key", "kind", "source"):
        words = table[name].combine_chunks().cast(pa.dictionary(index, pa.string()))
        table = table.set_column(table.column_names.index(name), name, words)
    return table


@pytest.mark.parametrize("given", [{"key": ["a"]}, [1], "log.csv", Path("log.csv"), pa.record_batch({"key": ["a"]})])
def test_what_is_no_arrow_table_is_refused_and_told_how_to_become_one(given: object) -> None:
    rule, kind = Rule("r", "open", "a", within=1), type(given).__name__
    asked: list[tuple[str, Callable[[Any], object]]] = [
        ("events", lambda log: local.outcomes(log, rule)),
        ("operations", lambda log: local.outcomes(as_table([]), rule, operations=log)),
        ("outcomes", lambda log: local.what_if(log, ["1 day"])),
    ]
    for name, ask in asked:
        with pytest.raises(
            ConfigError, match=rf"^{name} is a {kind}, not an Arrow table; .* pa.Table.from_pandas\(df\)"
        ):
            ask(given)


@pytest.mark.parametrize("given", ["paid", ["paid"], None, {"paid": 1}])
def test_what_is_no_rule_is_refused_and_told_how_to_become_one(given: Any) -> None:
    no_outcomes = local.outcomes(as_table([]), Rule("r", "open", "a", within=1)).outcomes
    for ask in (lambda: local.outcomes(as_table([]), given), lambda: local.what_if(no_outcomes, ["1 day"], given)):
        with pytest.raises(
            ConfigError, match=r"^('paid'|None) is not a rule; make one with Rule\(\.\.\.\), or Rule\.from_toml"
        ):
            ask()
