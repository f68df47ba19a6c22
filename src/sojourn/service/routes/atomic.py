"""A batch that is carried out as a whole, or not at all: its lines become one record of the log.

So they are alike: waits of one condition or rule, or signals. That is what `wait_many` and `signal_many` of a hub do,
and what those of a client ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ..api.problems import Problem, refused
from ..api.shapes import Asked, Signal
from ..turns.acts import signalling
from ..turns.gather import Answer, Ask, plan_of

if TYPE_CHECKING:
    from ..service import Service

MOST_LINES = 100_000
"""In one batch: other requests wait until all of its lines are carried out."""
_ALIKE = "in an atomic batch all lines are waits of the same condition or rule, or all are signals"


async def carried_out(service: Service, asked: Sequence[Ask]) -> list[Answer]:
    """An answer for each wait; of signals, one for all of them."""
    if not asked:
        return []
    _check_alike(asked)
    if isinstance(asked[0], Asked):
        return cast(list[Answer], await service.act(service.opening(cast(Sequence[Asked], asked))))
    return [await service.act(signalling(service.verbs, cast(Sequence[Signal], asked)))]


def check_size(lines: Sequence[bytes]) -> None:
    if len(lines) > MOST_LINES:
        raise Problem(
            413,
            "too large",
            f"{len(lines):,} lines; an atomic batch has at most {MOST_LINES:,}, as nobody else has a turn meanwhile: "
            "send several batches, or one without ?atomic=true",
            "body",
        )


def _check_alike(asked: Sequence[Ask]) -> None:
    first = asked[0]
    if not isinstance(first, Asked | Signal):
        raise refused_by(refused(f"it is neither a wait nor a signal; {_ALIKE}"), 1)
    kind, plan = type(first), plan_of(first)
    for number, one in enumerate(asked, 1):
        if type(one) is not kind or plan_of(one) != plan:
            raise refused_by(refused(f"it is not like line 1; {_ALIKE}"), number)


def refused_by(problem: Problem, number: int) -> Problem:
    """What is wrong with one line, said of the whole batch."""
    more = problem.more
    problem.detail = f"line {number}: {problem.detail}; nothing of the batch was carried out"
    problem.more = lambda: {**more(), "line": number}
    return problem
