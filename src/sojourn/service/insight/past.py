"""The history of a folder as numbers, by rule: a process of its own, since reading a log keeps a processor busy.

    python -m sojourn.service.insight.past DATA SINCE NOW > numbers.npz

Each wait opened since then is judged by the law, as `sojourn verify` does: when its condition was met, also if that was
too late, and what is pending.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...durable.dataset import schema as D  # noqa: N812
from ...durable.dataset.history import History, places
from ...durable.dataset.verify import Asked, ask, part
from ...durable.log.folder import opened
from ...pipeline import local
from ...pipeline import schema as S  # noqa: N812
from ...pipeline.no_pandas import without_pandas
from ...pipeline.results.observed import observed
from ...rules import Rule
from ...rules.law import case_of

COLUMNS = ("opened_at", "deadline", "met_at", "cancelled_at", "status")
MOST = 1_000_000
"""Waits of a rule that are looked at: the last ones."""


def numbers(data: str, since: int, now: int) -> dict[str, Any]:
    """Of each rule the columns of `Observed`; and, as JSON under "about", what else there is to say."""
    asked = ask(opened(data))
    history, plans = asked.history, asked.past.plans
    as_of = max(now, history.as_of)
    arrays: dict[str, Any] = {}
    about: dict[str, Any] = {"as_of": as_of, "since": since, "rules": {}, "hours": _hours(asked, since)}
    tables = [table for table in _decided(asked, since, as_of) if len(table)]
    if tables:
        table = pa.concat_tables(tables)
        plan = history.waits.plan[places(history, table[S.OPERATION_ID])]
        names = np.array([plans[int(number)].name for number in plan], object)
        for place, name in enumerate(sorted(set(names))):
            rows = table.filter(pa.array(names == name)).slice(max(0, int((names == name).sum()) - MOST))
            seen = observed(rows, as_of)
            arrays |= {f"{place}.{column}": getattr(seen, column) for column in COLUMNS}
            about["rules"][name] = {"place": place, **_about(name, plans)}
    return {**arrays, "about": np.frombuffer(json.dumps(about).encode(), np.uint8)}


def _about(name: str, plans: dict[int, Rule]) -> dict[str, Any]:
    rules = [rule for rule in plans.values() if rule.name == name]
    within = rules[-1].within
    return {
        "may_cancel": any(rule.cancels is not None for rule in rules),
        "keeps_alive": any(rule.keeps_alive is not None for rule in rules),
        "within_ms": within if isinstance(within, int) and within > 0 else None,
    }


def _decided(asked: Asked, since: int, as_of: int) -> Iterator[pa.Table]:
    """What the law says of the waits since then, with `met_at` whatever the deadline."""
    history = asked.history
    for is_rough in (False, True):
        chosen = {n for n in history.rules if (n in asked.rough) == is_rough} - asked.single
        if chosen:
            rules, operations, events = part(history, chosen, is_rough=is_rough)
            recent = operations.filter(pc.greater_equal(operations["opened_at"].cast(pa.int64()), since))
            if len(recent):
                yield local.outcomes(events, rules, operations=recent, as_of=as_of).outcomes.select(S.OUTCOMES.names)
    yield _singly(asked, history, since, as_of)


def _singly(asked: Asked, history: History, since: int, as_of: int) -> pa.Table:
    """Of rules whose numbers no column can hold, one by one."""
    chosen = np.isin(history.waits.plan, list(asked.single)) & (history.waits.opened_at >= since)
    ids = history.operations[S.OPERATION_ID]
    rows = []
    for wait in np.flatnonzero(chosen).tolist():
        outcome = case_of(history.operation(wait), history.hearings[wait].events, as_of).outcome
        rows.append({**outcome._asdict(), "operation_id": ids[wait].as_py()})
    return pa.Table.from_pylist(rows, S.OUTCOMES)


def _hours(asked: Asked, since: int) -> list[list[int]]:
    """How many were told in each hour since then: hour, completed, expired, cancelled."""
    told = asked.past.outcomes
    hour = told[D.TOLD_AT].cast(pa.int64()).to_numpy() // 3_600_000
    ending = pc.index_in(told["outcome"], pa.array(["completed", "expired", "cancelled"])).to_numpy()
    is_recent = hour >= since // 3_600_000
    pairs, counts = np.unique(np.stack([hour[is_recent], ending[is_recent]]), axis=1, return_counts=True)
    by_hour: dict[int, list[int]] = {}
    for (at, kind), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        by_hour.setdefault(int(at), [0, 0, 0])[int(kind)] = count
    return [[at, *by_hour[at]] for at in sorted(by_hour)]


def main(data: str, since: str, now: str) -> None:
    with suppress(OSError):
        os.nice(10)  # the service itself goes first
    without_pandas()
    found = numbers(data, int(since), int(now))
    buffer = io.BytesIO()
    np.savez(buffer, **found)
    sys.stdout.buffer.write(buffer.getvalue())


if __name__ == "__main__":
    main(*sys.argv[1:])
