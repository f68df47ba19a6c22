"""Kafka as a source of Spark's, for where its own connector is missing: through confluent-kafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from ....errors import SourceError
from .kafka import library

if TYPE_CHECKING:
    from confluent_kafka import Consumer

NAME = "sojourn_kafka"
SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
"""The columns of Spark's own connector that matter; ours gives the same."""
HEADERS = "headers array<struct<key: string, value: binary>>"
"""And one more with the option `includeHeaders`, as there; null where a message has none."""

ROWS_AT_ONCE = 10_000
POLL_S = 1
WAIT_S = 30
"""How long a broker may take to answer."""

_ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
_ARROW_HEADERS = pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))


class KafkaSource(DataSource):
    """Options: `servers`, `topic`, `startingOffsets` (earliest or latest), `maxOffsetsPerTrigger`, `includeHeaders`;
    and `kafka.*`, which are passed on to the client."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return f"{SCHEMA}, {HEADERS}" if wants_headers(self.options) else SCHEMA

    def streamReader(self, schema: Any) -> KafkaReader:  # noqa: N802
        return KafkaReader(dict(self.options))


class Span(InputPartition):
    """Messages of one partition, from an offset to another."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        self.partition, self.start, self.end = partition, start, end


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets, by the number of the partition, are those of the next message to read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = {name.lower(): value for name, value in options.items()}  # as Spark's own options are known
        self._ends: dict[str, int] | None = None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._ends = self._latest()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        from_end = self._options.get("startingoffsets", "earliest") == "latest"
        return {place: bounds[from_end] for place, bounds in self._bounds().items()}

    def latestOffset(self, start: dict[str, int], limit: Any = None) -> dict[str, int]:  # noqa: N802
        """All there is, or a fair share of `maxOffsetsPerTrigger` from each partition."""
        ends = self._latest() if self._ends is None else self._ends
        most = getattr(limit, "max_rows", None)
        if most is None:
            return ends
        share = -(-most // max(1, len(ends)))
        return {place: min(end, start.get(place, 0) + share) for place, end in ends.items()}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.get("maxoffsetspertrigger")
        return ReadAllAvailable() if most is None else ReadMaxRows(int(most))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        spans = [Span(int(place), start.get(place, 0), offset) for place, offset in end.items()]
        return [span for span in spans if span.start < span.end]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Span)
        consumer = self._consumer()
        try:
            start = library().TopicPartition(self._options["topic"], partition.partition, partition.start)
            consumer.assign([start])
            silent_s = 0
            while (position := _position(consumer, start)) < partition.end:
                messages = consumer.consume(min(ROWS_AT_ONCE, partition.end - position), POLL_S)
                wanted = [message for message in messages if _checked(message).offset() < partition.end]
                yield _with_headers(wanted) if wants_headers(self._options) else _batch(wanted)
                silent_s = 0 if messages else silent_s + POLL_S
                if silent_s > WAIT_S:
                    raise SourceError(
                        f"{self._options['servers']} sends no messages of {start} from offset {position} on"
                    )
        finally:
            consumer.close()

    def _latest(self) -> dict[str, int]:
        return {place: end for place, (_, end) in self._bounds().items()}

    def _bounds(self) -> dict[str, tuple[int, int]]:
        """The first offset and the next one, of each partition."""
        topic, consumer = self._options["topic"], self._consumer()
        try:
            metadata = consumer.list_topics(topic, timeout=WAIT_S).topics[topic]
            if metadata.error is not None:
                raise SourceError(f"topic {topic!r} on {self._options['servers']}: {metadata.error}")
            places = [library().TopicPartition(topic, place) for place in metadata.partitions]
            return {str(p.partition): consumer.get_watermark_offsets(p, timeout=WAIT_S) for p in places}
        finally:
            consumer.close()

    def _consumer(self) -> Consumer:
        client_options = {
            name.removeprefix("kafka."): value for name, value in self._options.items() if name.startswith("kafka.")
        }
        settings = {
            "bootstrap.servers": self._options["servers"],
            "group.id": NAME,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # rather than go on elsewhere, and lose messages
        }
        consumer: Consumer = library().Consumer(settings | client_options)
        return consumer


def wants_headers(options: Mapping[str, str]) -> bool:
    return {name.lower(): value for name, value in options.items()}.get("includeheaders", "false").lower() == "true"


def _position(consumer: Consumer, start: Any) -> int:
    """The offset to be read next. Offsets of transaction markers, which are not messages, are skipped."""
    offset = consumer.position([start])[0].offset
    return start.offset if offset < 0 else int(offset)


def _checked(message: Any) -> Any:
    if message.error() is not None:
        raise SourceError(f"{message.topic()}/{message.partition()} at {message.offset()}: {message.error()}")
    return message


def _batch(messages: Iterable[Any]) -> pa.RecordBatch:
    rows = [(m.key(), m.value(), m.topic(), m.partition(), m.offset(), m.timestamp()[1] * 1000) for m in messages]
    columns = zip(*rows, strict=True) if rows else [()] * len(_ARROW)
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)], schema=_ARROW
    )


def _with_headers(messages: Sequence[Any]) -> pa.RecordBatch:
    pairs = [message.headers() for message in messages]
    headers = [
        None if each is None else [dict(zip(("key", "value"), pair, strict=True)) for pair in each] for each in pairs
    ]
    return _batch(messages).append_column(_ARROW_HEADERS, pa.array(headers, _ARROW_HEADERS.type))
