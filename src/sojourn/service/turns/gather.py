"""What many callers ask for at the same time, carried out as one: while the disk is busy, those who come are gathered.

Waits of the same condition or rule become one record, and the hub, its thread and the loop are troubled once for all of
them. Each caller has an answer of its own: where one is refused, the others are not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...rules import Rule
from ..api.shapes import Asked, Signal
from .acts import Cancelled, Opened, cancelling, extending, registering, signalling

if TYPE_CHECKING:
    from ..service import Service

logger = logging.getLogger("sojourn.service")

Done = Callable[[Any], object]


class Extension(NamedTuple):
    id: str
    within_ms: int


class Cancellation(NamedTuple):
    id: str


Ask = Asked | Signal | Extension | Cancellation | Rule
Answer = Opened | Cancelled | dict[str, Any] | int | bool | Exception
"""What came of it, or why nothing."""


class Item(NamedTuple):
    asked: Ask
    done: Done
    """Called on the loop with the answer."""


class Gatherer:
    """One group is under way at a time; the next one grows meanwhile."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Item] = []
        self._is_busy = False

    def add(self, asked: Ask, done: Done) -> None:
        """Have a wait opened or a signal sent; `done` is called with the answer, or with an exception."""
        self._waiting.append(Item(asked, done))
        if not self._is_busy:
            self._is_busy = True
            asyncio.get_running_loop().call_soon(self._send)  # after those who have come in the same moment

    async def ask(self, asked: Ask) -> Any:
        """The same, for those who can wait; carried out even if they do not."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.add(asked, lambda given: _settle(answer, given))
        return await answer

    def _send(self) -> None:
        items, self._waiting = self._waiting, []
        asked = [item.asked for item in items]
        try:
            answers = self._service.act(lambda stamp: list(carry_out(self._service, asked, stamp)))
        except Exception as error:
            self._answer(items, [error] * len(items))
            return
        answers.add_done_callback(lambda answers: self._answer(items, _given(answers, len(items))))

    def _answer(self, items: list[Item], answers: list[Answer]) -> None:
        for item, answer in zip(items, answers, strict=True):
            try:
                item.done(answer)
            except Exception:
                logger.exception("an answer could not be given")  # the others can
        if self._waiting:
            self._send()
        else:
            self._is_busy = False


def _given(answers: asyncio.Future[list[Answer]], count: int) -> list[Answer]:
    if answers.cancelled():
        return [TimeoutError("the service stops")] * count
    error = answers.exception()
    return answers.result() if error is None else [error if isinstance(error, Exception) else OSError(error)] * count


def _settle(answer: asyncio.Future[Any], given: Any) -> None:
    if answer.done():
        return
    if isinstance(given, Exception):
        answer.set_exception(given)
    else:
        answer.set_result(given)


def carry_out(service: Service, asked: Iterable[Ask], stamp: int) -> Iterator[Answer]:
    """In the hub's turn: one answer for each, in order."""
    for plan, run in groupby(asked, key=plan_of):
        if plan is None:
            for one in run:
                yield _tried(service, one, stamp)
        else:
            yield from opened(service, cast(list[Asked], list(run)), stamp)


def plan_of(asked: Ask) -> tuple[Any, ...] | None:
    """What waits must have in common to become one record; None for anything else."""
    return (asked.until, asked.within, asked.rule) if type(asked) is Asked else None


def opened(service: Service, run: list[Asked], stamp: int) -> Iterator[Answer]:
    """All at once; or, if one of them is refused, one by one."""
    try:
        yield from service.opening(run)(stamp)
    except Exception as error:
        if len(run) == 1:
            yield error
            return
        for one in run:
            yield from opened(service, [one], stamp)


def _tried(service: Service, asked: Ask, stamp: int) -> Answer:
    try:
        return _act(service, asked)(stamp)
    except Exception as error:
        return error


def _act(service: Service, asked: Ask) -> Callable[[int], Answer]:
    match asked:
        case Signal():
            return signalling(service.verbs, [asked])
        case Extension():
            return extending(service.verbs, asked.id, asked.within_ms)
        case Cancellation():
            return cancelling(service.verbs, asked.id)
        case Rule():
            return registering(service.verbs, asked)
    raise TypeError(asked)
