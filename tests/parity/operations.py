"""Operations that are given beside the events, and what the law says of them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import pyarrow as pa

from parity.random_rules import KEYS
from sojourn.rules import AsOf, Event, Outcome, Rule, Waiting, end_of_log, value_error


class Given(NamedTuple):
    operation_id: str
    rule: str
    keys: list[str]
    opened_at: int
    within: int


TABLE = pa.schema(
    [
        ("operation_id", pa.string()),
        ("rule", pa.string()),
        ("keys", pa.list_(pa.string())),
        ("opened_at", pa.int64()),
        ("within", pa.int64()),
    ]
)


def operations(random: Random, rules: Sequence[Rule], size: int, most_keys: int) -> list[Given]:
    """Some on keys that have no events, some on the same key twice."""
    return [
        Given(
            f"op-{i}",
            random.choice(rules).name,
            random.choices([*KEYS, "nobody"], k=random.randint(1, most_keys)),
            random.randrange(7),
            random.randrange(6),
        )
        for i in range(size)
    ]


def as_table(given: Sequence[Given]) -> pa.Table:
    return pa.Table.from_pylist([operation._asdict() for operation in given], TABLE)


def by_law(
    rules: Sequence[Rule], given: Sequence[Given], log: Sequence[Event], as_of: AsOf = "complete"
) -> list[Outcome]:
    """Each operation on its own, told every event of its keys, and asked as of the end of the log."""
    by_name = {rule.name: rule for rule in rules}
    usable = [e.at for e in log if any(value_error(rule.until, e) is None for rule in rules)]
    end = end_of_log(as_of, max((*usable, *(operation.opened_at for operation in given)), default=None))
    found = []
    for operation_id, name, keys, opened_at, within in given:
        rule = by_name[name]
        waiting = Waiting(rule, keys[0], opened_at, opened_at + within, operation_id)
        for event in log:
            if event.key in keys and value_error(rule.until, event) is None:
                waiting.add(event)
        outcome = waiting.outcome() if end is None else waiting.as_of(end)
        if outcome is not None:
            found.append(outcome._replace(seen=""))
    return sorted(found)
