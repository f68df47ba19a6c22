"""Small worlds, in which ties are frequent: seven instants, a few kinds, four sources.

Events and leaves are drawn from tables of all there are, the simplest first: one draw for each, which is fast and
shrinks well.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import product

from hypothesis import settings
from hypothesis import strategies as st

from sojourn.rules import (
    AsOf,
    Condition,
    Event,
    Leaf,
    Rule,
    Seen,
    all_of,
    any_of,
    column,
    n_of,
    never,
    reached,
    seen,
    total,
    until_column,
)
from sojourn.rules.event import Number

MANY = settings(max_examples=3 * settings.default.max_examples)

TIMES = range(7)
SOURCES = (None, "x", "y", 1)
AMOUNTS = (1, 0, 2, 3, 0.1, 0.3, 0.6, 1.5)
DECIMALS = tuple(map(Decimal, ("1", "0", "2", "3", "0.1", "0.3", "0.29999999999999999", "1.5")))
"""One of them is 0.3 as a float, but less than 0.3."""

ends: st.SearchStrategy[AsOf] = st.sampled_from(["complete", "log", *range(-1, 13)])
"""Where a log ends: no deadline is later than 12."""

SIGNALS = ("a", "b", "c")

LEAVES: list[Leaf] = [
    *(seen(kind, times, distinct) for times in (1, 2, 3) for kind in SIGNALS for distinct in (None, "source")),
    *(reached(kind, at_least, by) for by in (1, 2, 3) for kind in SIGNALS for at_least in (-1, 0.6, 2)),
    *(total(kind, of, at_least=x) for x in (0.3, 1, 2, 5) for kind in SIGNALS for of in ("value", "amount")),
]


def groups(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    some = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        some.map(lambda parts: all_of(*parts)),
        some.map(lambda parts: any_of(*parts)),
        some.flatmap(lambda parts: st.integers(1, len(parts)).map(lambda n: n_of(n, *parts))),
    )


conditions: st.SearchStrategy[Condition] = st.recursive(
    st.sampled_from([*LEAVES, never(), never()]), groups, max_leaves=5
)


def rules_until(until: st.SearchStrategy[Condition]) -> st.SearchStrategy[Rule]:
    return st.builds(
        Rule,
        st.just("r"),
        opens=st.sampled_from(["open", "a"]),
        until=until,
        within=st.sampled_from([0, 1, 2, 3, 4, 5, column("allowed"), until_column("due")]),
        per=st.sampled_from(["first", "each"]),
        cancels=st.sampled_from([None, "stop", "stop", "b"]),
    )


waiting_rules = rules_until(conditions)
rules_with_numbers = rules_until(
    st.recursive(st.sampled_from([leaf for leaf in LEAVES if not isinstance(leaf, Seen)]), groups, max_leaves=3)
)
alive_rules = st.builds(
    Rule,
    st.just("r"),
    opens=st.sampled_from(["open", "a"]),
    within=st.sampled_from([1, 2, 3, 0, column("allowed")]),
    per=st.sampled_from(["first", "each"]),
    cancels=st.sampled_from([None, "stop"]),
    keeps_alive=st.sampled_from(["a", "b"]),
)
rules = st.one_of(waiting_rules, waiting_rules, alive_rules)


def all_events(key: str, kinds: str, amounts: Sequence[Number] = AMOUNTS) -> list[Event]:
    """Every event there can be, with further columns that vary along."""
    table = product(amounts, SOURCES, TIMES, kinds.split())
    return [
        Event(key, kind, at, source, value, {"allowed": i % 5, "due": i % 11 - 1, "amount": amounts[i % 7]})
        for i, (value, source, at, kind) in enumerate(table)
    ]


KINDS = "a b c stop open a b c"
openings = st.sampled_from(all_events("k", "open"))
logs = st.lists(st.sampled_from(all_events("k", KINDS, (*AMOUNTS, *DECIMALS))), max_size=12)
logs_of_two_keys = st.lists(st.sampled_from(all_events("k", KINDS) + all_events("l", KINDS)), max_size=14)
decimal_logs_of_two_keys = st.lists(
    st.sampled_from(all_events("k", KINDS, DECIMALS) + all_events("l", KINDS, DECIMALS)), max_size=14
)
times = st.sampled_from(TIMES)
