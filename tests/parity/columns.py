"""Logs of `Event` as the kernel's columns, and its verdicts as `Outcome`, row by row: slow and plain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sojourn.errors import RuleError
from sojourn.pipeline.kernel import (
    NEVER,
    NOTHING,
    PENDING,
    UNREADABLE,
    CodedTexts,
    Events,
    Numbers,
    Operations,
    Verdicts,
)
from sojourn.pipeline.kernel.search import Ints
from sojourn.pipeline.schema import ENDINGS
from sojourn.rules import Event, Outcome, Reached, Rule, Seen, operation_id

KINDS = ("a", "b", "c", "stop", "open")


def as_columns(rule: Rule, log: Sequence[Event]) -> tuple[list[str], Events]:
    """The keys, and the sorted columns: a group a key."""
    log = sorted(log, key=lambda event: (event.key, event.at))
    keys = sorted({event.key for event in log})
    starts = [0, *(sum(event.key <= key for event in log) for key in keys)]
    sources = {source: code for code, source in enumerate(dict.fromkeys(event.source for event in log))}
    names = {"value", *(leaf.of for leaf in rule.leaves if not isinstance(leaf, Seen | Reached))}
    return keys, Events(
        starts=np.array(starts, np.int64),
        at=np.array([event.at for event in log], np.int64),
        kind=np.array([KINDS.index(event.kind) for event in log], np.int8),
        kinds=KINDS,
        source=np.array([sources[event.source] for event in log], np.int64),
        numbers={name: numbers([reading(name, event) for event in log]) for name in names},
        deadlines={rule.within: np.array([deadline(rule, event) for event in log], np.int64)},
    )


def reading(name: str, event: Event) -> object:
    return event.value if name == "value" else (event.columns or {}).get(name)


def numbers(values: Sequence[object]) -> Numbers:
    is_number = [isinstance(v, int | float) and not isinstance(v, bool) and v == v for v in values]
    plain = [v if ok else 0 for v, ok in zip(values, is_number, strict=True)]
    dtype = np.int64 if all(isinstance(v, int) for v in plain) else np.float64
    return Numbers(np.array(plain, dtype), np.array(is_number, bool))


def deadline(rule: Rule, event: Event) -> int:
    try:
        return rule.deadline(event)
    except RuleError:
        return UNREADABLE


def as_outcomes(rule: Rule, keys: Sequence[str], operations: Operations, verdicts: Verdicts) -> list[Outcome]:
    found = []
    for i, group in enumerate(operations.group.tolist()):
        opened_at, at, met_at = int(operations.opened_at[i]), int(verdicts.at[i]), int(verdicts.met_at[i])
        is_pending = verdicts.ending[i] == PENDING
        by, missing = int(verdicts.decided_by.codes[i]), int(verdicts.missing.codes[i])
        found.append(
            Outcome(
                operation_id(rule.name, keys[group], opened_at, int(operations.ordinal[i])),
                rule.name,
                keys[group],
                opened_at,
                int(verdicts.deadline[i]),
                ENDINGS[verdicts.ending[i]],
                None if is_pending else at,
                at - opened_at,
                None if met_at == NEVER else met_at,
                None if by == NOTHING else verdicts.decided_by.texts[by],
                None if missing == NOTHING else verdicts.missing.texts[missing],
            )
        )
    return found


def told(coded: CodedTexts, codes: Ints) -> list[str | None]:
    return [None if code == NOTHING else coded.texts[code] for code in codes.tolist()]
