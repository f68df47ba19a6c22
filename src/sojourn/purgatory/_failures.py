"""What both builds of the purgatory do with more than one failure."""

from __future__ import annotations

from collections.abc import Callable


def one_of(failures: list[BaseException], report: Callable[[BaseException], object]) -> BaseException:
    """Of all that one call of an operation's code raised, what its caller is to hear; the rest is reported.

    That is an exit if there was one, which must not be swallowed, and otherwise the last.
    """
    exits = [failure for failure in failures if not isinstance(failure, Exception)]
    chosen = (exits or failures)[-1]
    for failure in failures:
        if failure is not chosen:
            report(failure)
    return chosen
