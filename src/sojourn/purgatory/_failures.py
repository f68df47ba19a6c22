"""What both builds of the purgatory do with more than one failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def one_of(failures: Sequence[BaseException | None], report: Callable[[BaseException], object]) -> BaseException | None:
    """Of what an operation's code raised, call by call, what the caller is to hear of; the rest is reported.

    That is what the last call raised, if it did; but an exit, which must not be swallowed, goes before.
    """
    heard = next((failure for failure in failures if not isinstance(failure, Exception | None)), failures[-1])
    for failure in failures:
        if failure is not None and failure is not heard:
            report(failure)
    return heard
