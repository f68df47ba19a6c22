"""What travels to a shard: the events it needs, the rows that they are, and how far time has come."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sojourn.pipeline.deal import shards_of
from sojourn.pipeline.plan import Plan
from sojourn.pipeline.spark.spread import spread
from sojourn.pipeline.stream.shard.pack import ASIDE, EVENTS, NEWEST, ROWS, SET_ASIDE, SHARD, Pack, from_bytes
from sojourn.pipeline.stream.shard.shape import Shape
from sojourn.rules import Rule, total

RULE = Rule("r", "open", "done", within=5)
LOG = pa.schema([("key", pa.string()), ("kind", pa.string()), ("at", pa.int64()), ("note", pa.string())])


def pack(shards: int = 8) -> Pack:
    return Pack(Shape(Plan.of(RULE, "ms"), {}), LOG, shards)


def payloads(rows: list[tuple[Any, ...]], shards: int = 8) -> list[dict[str, Any]]:
    table = pa.table(
        [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), LOG.types, strict=True)], LOG
    )
    found: list[dict[str, Any]] = pack(shards).payloads(table).to_pylist()
    return found


@pytest.mark.parametrize("shards", [1, 3, 8, 64])
def test_each_shard_gets_its_events_and_with_each_the_row_that_it_is(shards: int) -> None:
    rows = [(f"key-{i % 50}", ("open", "done", "other")[i % 3], i, f"note {i}") for i in range(300)]
    found = payloads(rows, shards)
    sent = []
    for payload in found:
        events = from_bytes(payload[EVENTS], pack().shape.fresh)
        whole = from_bytes(payload[ROWS], LOG)
        assert events["key"].to_pylist() == whole["key"].to_pylist()
        assert events["at"].to_pylist() == whole["at"].to_pylist()
        assert set(spread(shards_of(events["key"], shards)).tolist()) == {payload[SHARD]}
        sent += [tuple(row.values()) for row in whole.to_pylist()]
    assert sorted(sent) == sorted(row for row in rows if row[1] != "other")
    assert len({payload[SHARD] for payload in found}) == len(found) <= shards


def test_what_cannot_be_used_travels_as_it_is_with_its_reason() -> None:
    (payload,) = payloads([(None, "open", 1, "a"), ("k", "open", None, "b")])
    aside = from_bytes(payload[ASIDE], SET_ASIDE).to_pylist()
    assert [row["reason"] for row in aside] == ["no key", "no time"]
    assert [row["row"] for row in aside] == [
        '{"key": null, "kind": "open", "at": 1, "note": "a"}',
        '{"key": "k", "kind": "open", "at": null, "note": "b"}',
    ]
    assert payload[EVENTS] is None


def test_every_payload_says_how_far_time_has_come_also_one_that_holds_nothing() -> None:
    ended = payloads(
        [("a", "open", 3, None), ("b", "done", 7, None), ("c", "other", 9, None), (None, "open", 11, None)]
    )
    assert {payload[NEWEST].timestamp() for payload in ended} == {0.011}
    (idle,) = payloads([("c", "other", 9, None)])
    assert (idle[SHARD], idle[EVENTS], idle[ASIDE], idle[NEWEST].timestamp()) == (None, None, None, 0.009)
    (timeless,) = payloads([("c", "open", None, None)])
    assert timeless[NEWEST] is None


def test_what_some_rule_can_use_is_sent_and_what_another_cannot_is_set_aside_in_its_name() -> None:
    rules = [
        Rule("adds", "open", total("a", of="at", at_least=1), 5),
        Rule("sums", "a", total("b", of="note", at_least=1), 5),
    ]
    plan = Plan.of(rules, "ms")
    shape = Shape(plan, {"at": pa.int64(), "note": pa.decimal128(38, 18)})
    rows = {"key": ["k"] * 4, "kind": ["open", "a", "b", "b"], "at": [1, 2, 3, 4], "note": ["x", "x", "x", "1"]}
    (*aside, sent) = Pack(shape, LOG, 1).payloads(pa.table(rows, LOG)).to_pylist()
    assert from_bytes(sent[ROWS], LOG)["at"].to_pylist() == [1, 2, 4]
    reasons = from_bytes(aside[0][ASIDE], SET_ASIDE)["reason"].to_pylist()
    assert reasons == ["rule 'sums': note of 'b' is not a number"]
