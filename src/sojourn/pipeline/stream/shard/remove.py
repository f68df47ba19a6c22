"""What becomes of a rule's operations when the stream is to go on without the rule."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...columns.outcomes import outcome_table
from ...kernel import CANCELLED, NEVER, CodedTexts, Lanes, Operations, Verdicts, given, judge
from ...schema import OUTCOMES, SPARK_TIME
from .decide import decide, opened_operations
from .groups import Groups, known_of

REMOVAL = "removal"
"""What decided an operation that was cancelled since its rule was removed."""


def judged(groups: Groups, as_of: int) -> tuple[Operations, Verdicts]:
    """All operations among these keys, and how they stand as of a time up to which nothing else will count."""
    rule = groups.shape.rule
    lanes = Lanes(rule, groups.events)
    opened, _ = opened_operations(groups, lanes)
    operations = given(groups.events, opened.group, opened.since, opened.since + opened.deadline - opened.opened_at)
    verdicts = judge(rule, groups.events, operations, lanes, as_of)
    return Operations(opened.group, opened.opened_at, opened.deadline, opened.ordinal, operations.first), verdicts


def told(groups: Groups, operations: Operations, verdicts: Verdicts) -> pa.Table:
    """These operations as rows of an outcome table."""
    keys = groups.key.take(pa.array(operations.group))
    table = outcome_table(groups.shape.rule, operations, verdicts, keys, time=SPARK_TIME, is_coded=False)
    return table.select(OUTCOMES.names)


def ended_by_removal(groups: Groups, at: int) -> pa.Table:
    """What the law says as of `at`, given the events that were read: and what is pending then is cancelled."""
    step = decide(groups, at + 1)
    kept = known_of(groups.shape, step.kept)
    operations, verdicts = judged(kept, at)
    count = len(verdicts.at)
    ended = verdicts._replace(
        ending=np.full(count, CANCELLED, np.int8),
        met_at=np.full(count, NEVER),
        decided_by=CodedTexts(np.zeros(count, np.int64), [REMOVAL]),
    )
    return pa.concat_tables([step.outcomes, told(kept, operations, ended)])
