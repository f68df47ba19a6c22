"""Operations given as a table, on one key or on many, against the law."""

from __future__ import annotations

from random import Random

import pytest

from parity import random_rules
from parity.operations import as_table, by_law, operations
from parity.tables import as_outcomes
from parity.tables import as_table as as_log
from sojourn.pipeline import deal, local
from sojourn.pipeline.columns import operations as arrow_operations
from sojourn.pipeline.plan import Plan
from sojourn.rules import Rule, seen


@pytest.mark.parametrize("most_keys", [1, 4])
@pytest.mark.parametrize("seed", range(15))
def test_the_events_of_all_its_keys_count_for_an_operation(seed: int, most_keys: int) -> None:
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(6)]
    given = operations(random, rules, 80, most_keys)
    log = random_rules.log(random, random.choice([0, 10, 100, 400]))
    as_of = random_rules.as_of(random)
    result = local.outcomes(as_log(log), rules, unit="ms", operations=as_table(given), as_of=as_of)
    assert as_outcomes(result.outcomes) == by_law(rules, given, log, as_of)


@pytest.mark.parametrize("rows", [1, 20])
@pytest.mark.parametrize("most_keys", [1, 4])
@pytest.mark.parametrize("seed", range(8))
def test_shards_of_whatever_size_decide_as_the_law(
    seed: int, most_keys: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    random = Random(seed)
    rules = [random_rules.rule(random, f"r{i}") for i in range(3)]
    given = operations(random, rules, 60, most_keys)
    log = random_rules.log(random, random.choice([0, 10, 100]))
    as_of = random_rules.as_of(random)
    result = local.outcomes(as_log(log), rules, unit="ms", operations=as_table(given), as_of=as_of)
    assert as_outcomes(result.outcomes) == by_law(rules, given, log, as_of)


@pytest.mark.parametrize("rows", [1, 100_000])
@pytest.mark.parametrize("seed", range(8))
def test_where_the_keys_are_the_sources_each_key_is_another(
    seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deal, "ENOUGH_ROWS", rows)
    random = Random(seed)
    quorum = Rule("quorum", "open", seen("a", times=2, distinct="source"), within="1 min")
    given = operations(random, [quorum], 60, most_keys=4)
    log = [event._replace(source=event.key) for event in random_rules.log(random, 100)]
    result = local.outcomes(as_log(log), quorum, unit="ms", source="key", operations=as_table(given), as_of="complete")
    assert as_outcomes(result.outcomes) == by_law([quorum], given, log)
    assert {"completed", "expired"} == set(result.outcomes["outcome"].to_pylist())


def test_more_sources_than_there_are_can_be_asked_for() -> None:
    """And are looked for no longer than there are any."""
    random = Random(1)
    quorum = Rule("quorum", "open", seen("a", times=2**31 - 1, distinct="source"), within="1 min")
    given = operations(random, [quorum], 60, most_keys=4)
    log = random_rules.log(random, 100)
    result = local.outcomes(as_log(log), quorum, unit="ms", operations=as_table(given), as_of="complete")
    assert as_outcomes(result.outcomes) == by_law([quorum], given, log)
    assert {"expired"} == set(result.outcomes["outcome"].to_pylist())


@pytest.mark.parametrize("many", [0, 8])
@pytest.mark.parametrize("most_keys", [1, 4, 20])
def test_keys_that_an_operation_has_named_before_are_found_however_many_it_has(
    most_keys: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_operations, "_MANY_KEYS", many)
    random = Random(most_keys)
    quorum = Rule("quorum", "open", seen("a", times=2), within="1 min")
    given = operations(random, [quorum], 50, most_keys)
    found = arrow_operations.usable_operations(as_table(given), Plan.of(quorum, "ms"))
    expected = [key in own.keys[:place] for own in given for place, key in enumerate(own.keys)]
    assert arrow_operations.is_repeated(found).tolist() == expected
    assert any(expected) == (most_keys > 1)
