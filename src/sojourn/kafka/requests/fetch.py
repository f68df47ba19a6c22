"""What a fetch asks for and gets, partition by partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..error import Error
from ..log import EpochEnd, Record

MAX_BYTES = 1_048_576


class Position(NamedTuple):
    """Where a reader is in a partition; for most readers a plain offset is enough."""

    offset: int
    max_bytes: int = MAX_BYTES
    leader_epoch: int | None = None
    """The epoch that the reader knows; if the broker knows another one, the fetch fails."""
    last_epoch: int | None = None
    """Of the reader's last record: tells the leader whether their logs diverge."""
    start_offset: int = -1
    """Of a follower's log."""
    high_watermark: int = -1
    """As a follower knows it."""


class FetchResult(NamedTuple):
    """What was read from a partition."""

    error: Error
    records: Sequence[Record] = ()
    high_watermark: int = -1
    start_offset: int = -1
    end_offset: int = -1
    diverging: EpochEnd | None = None
    """Set if the reader's log diverges from this one: up to where they may agree."""
