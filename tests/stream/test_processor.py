"""A shard's timer, as Spark is asked for it."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.pipeline.kernel import NEVER
from sojourn.pipeline.stream.shard.processor import SparkStore
from sojourn.pipeline.stream.shard.shard import Head


class Handle:
    """The timers of one shard: as in Spark's, one that is deleted must be there."""

    def __init__(self) -> None:
        self.timers: set[int] = set()

    def getMapState(self, name: str, key: Any, value: Any) -> Handle:  # noqa: N802
        return self

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        pass

    def registerTimer(self, at: int) -> None:  # noqa: N802
        self.timers.add(at)

    def deleteTimer(self, at: int) -> None:  # noqa: N802
        self.timers.remove(at)


@pytest.mark.parametrize(
    ("wakes", "timers"),
    [
        ([5], {4}),
        ([5, 7], {6}),
        ([5, NEVER], set()),
        ([-900], {1}),
        ([-900, -800], {1}),
        ([-900, 5], {4}),
        ([-900, NEVER], set()),
        ([0, 1], {1}),
    ],
)
def test_a_shard_has_one_timer_and_none_before_the_watermark_starts(wakes: list[int], timers: set[int]) -> None:
    handle, heads = Handle(), {}
    store = SparkStore(handle, "settings")  # type: ignore[arg-type]
    for wake_at in wakes:
        new = {"rule": Head(pending=1, wake_at=wake_at), "other": Head()}
        store.save(heads, new, {})
        heads = new
    assert handle.timers == timers


@pytest.mark.parametrize(("wake_at", "timers"), [(9, {8}), (NEVER, set())])
def test_a_timer_that_has_fired_is_gone_and_set_anew_if_need_be(wake_at: int, timers: set[int]) -> None:
    handle = Handle()
    store = SparkStore(handle, "settings")  # type: ignore[arg-type]
    store.save({}, {"rule": Head(pending=1, wake_at=-900)}, {})
    handle.timers.clear()
    store.state.is_awake = True
    store.save({"rule": Head(pending=1, wake_at=-900)}, {"rule": Head(pending=1, wake_at=wake_at)}, {})
    assert handle.timers == timers
