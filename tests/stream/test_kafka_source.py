"""What our own source of Kafka makes of options and messages; no broker is needed."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from sojourn.pipeline.stream.doors.kafka_source import HEADERS, KafkaReader, KafkaSource, _with_headers


@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "maxoffsetspertrigger"])
def test_a_bound_on_a_micro_batch_is_kept_however_spark_writes_it(name: str) -> None:
    limit = KafkaReader({name: "6"}).getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    assert limit.max_rows == 6
    assert isinstance(KafkaReader({}).getDefaultReadLimit(), ReadAllAvailable)


@pytest.mark.parametrize(("options", "there"), [({}, False), ({"includeheaders": "True"}, True)])
def test_headers_are_a_column_if_they_are_asked_for(options: dict[str, str], there: bool) -> None:
    assert KafkaSource(options).schema().endswith(HEADERS) == there


class Message:
    def __init__(self, headers: list[tuple[str, bytes]] | None) -> None:
        self._headers = headers

    def headers(self) -> Any:
        return self._headers

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return (0, 5)


def test_each_message_has_its_own_headers_and_one_without_has_none() -> None:
    rows = _with_headers([Message([("a", b"1"), ("a", b"2")]), Message(None)])
    assert rows["headers"].to_pylist() == [[{"key": "a", "value": b"1"}, {"key": "a", "value": b"2"}], None]
    assert rows["offset"].to_pylist() == [7, 7]
