"""Recipes over a hub with a data folder: those that gather things of this process are refused."""

from concurrent.futures import Future
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.recipes import Batcher, DelayedFuture, Quorum, Readiness


def test_what_ends_with_the_process_is_not_waited_for_on_a_disk(tmp_path: Path) -> None:
    with sj.Hub(data=tmp_path) as hub:
        with pytest.raises(sj.ConfigError, match="items of a Batcher end with this process"):
            Batcher(hub, "batch", print, at_least=2, within="1 s")
        with pytest.raises(sj.ConfigError, match="give a hub without data= or url="):
            DelayedFuture(hub, "request", [Future()], within="1 s")
        assert hub.pending == 0


def test_a_quorum_and_readiness_are_kept_on_a_disk(tmp_path: Path) -> None:
    with sj.Hub(data=tmp_path) as hub:
        quorum = Quorum(hub, "write-1", acks=2, within="1 min")
        assert (quorum.ack("a"), quorum.ack("b")) == (False, True)
        topics = Readiness(hub, "request-1", ["orders", "fines"], within="1 min")
        topics.ready("orders")
        assert (topics.ready_parts, topics.missing_parts) == (["orders"], ["fines"])
