"""What the service counts of itself."""

from __future__ import annotations

from collections import Counter


class Counters:
    """On the loop only."""

    def __init__(self) -> None:
        self.by_status: Counter[int] = Counter()
        self.streams = 0
