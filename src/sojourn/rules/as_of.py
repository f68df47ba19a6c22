"""The end of observation: the time up to which the events of a log are known."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypeAlias, cast

from ..errors import ConfigError
from .duration import LIMIT_MS
from .within import EPOCH

AsOf: TypeAlias = int | datetime | str
"""A time, in epoch milliseconds, as a datetime or in ISO 8601 (UTC if it names no zone); or one of two words.

"log": the time of the latest event that can be used. "complete": nothing else will come, so that what was not met has
expired.
"""


def checked_as_of(as_of: AsOf) -> int | str:
    """The same, with a time in epoch milliseconds; `ConfigError` for anything else."""
    if as_of in ("log", "complete"):
        return cast(str, as_of)
    if isinstance(as_of, str):
        with suppress(ValueError):
            as_of = datetime.fromisoformat(as_of)
    if isinstance(as_of, datetime):
        return ((as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)
    if isinstance(as_of, int) and not isinstance(as_of, bool) and abs(as_of) <= LIMIT_MS:
        return as_of
    raise ConfigError(
        f'as_of={as_of!r} is not the end of a log; allowed are "log", "complete", a time in '
        "epoch milliseconds or ISO 8601, and a datetime"
    )


def end_of_log(as_of: AsOf, latest: int | None) -> int | None:
    """The time up to which the events are known, given that of the latest; None if there is no such time."""
    checked = checked_as_of(as_of)
    if checked == "log":
        return latest
    return None if isinstance(checked, str) else checked
