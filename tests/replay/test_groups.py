"""To which group an operation belongs: what its own opening says."""

from __future__ import annotations

import pyarrow as pa

from sojourn import Rule
from sojourn.pipeline import local
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.schema import GROUP

EACH = Rule("each", opens="a", until="b", within="1 s", per="each")
OTHER = Rule("other", opens="b", until="a", within="1 s", per="each")


def groups(events: dict[str, list[object]], *rules: Rule) -> dict[str, str | None]:
    """The group of each operation, by its id."""
    table = pa.table(events)
    found = local.outcomes_by_plan(table, Plan.of(rules, "ms").grouped("team")).outcomes
    return dict(zip(found["operation_id"].to_pylist(), found[GROUP].to_pylist(), strict=True))


def test_each_opening_of_a_key_has_its_own_group() -> None:
    events = {"key": ["x", "x", "y"], "kind": ["a"] * 3, "at": [1, 2, 1], "team": ["red", "blue", None]}
    assert groups(events, EACH) == {"each/x/1": "red", "each/x/2": "blue", "each/y/1": None}


def test_rules_that_open_on_different_kinds_look_at_their_own() -> None:
    events = {"key": ["x", "x"], "kind": ["a", "b"], "at": [1, 1], "team": ["red", "blue"]}
    assert groups(events, EACH, OTHER) == {"each/x/1": "red", "other/x/1": "blue"}


def test_of_openings_at_one_instant_the_first_group_in_order_counts() -> None:
    events = {"key": ["x", "x"], "kind": ["a", "a"], "at": [1, 1], "team": ["red", "blue"]}
    assert groups(events, EACH) == {"each/x/1": "blue", "each/x/1#2": "blue"}


def test_a_group_may_be_a_number() -> None:
    events = {"key": ["x"], "kind": ["a"], "at": [1], "team": [7]}
    assert groups(events, EACH) == {"each/x/1": "7"}
