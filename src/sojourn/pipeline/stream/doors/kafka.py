"""Kafka as a source and a sink: through Spark's own connector where its jar is there, else through confluent-kafka.

Needs `pip install sojourn[kafka]` for the latter. Offsets are in Spark's checkpoint; Kafka is told nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pyspark
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody does)

from ....errors import ConfigError, SourceError
from ... import schema as S  # noqa: N812
from .lakes import has_class

CONNECTOR = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


class Address(NamedTuple):
    """`HOST:PORT/TOPIC`; several hosts are separated by commas."""

    servers: str
    topic: str

    @staticmethod
    def of(text: str) -> Address:
        servers, slash, topic = text.rpartition("/")
        if not slash or not servers or not topic:
            raise ConfigError(f"kafka:{text} is not kafka:HOST:PORT/TOPIC")
        return Address(servers, topic)


def has_connector(spark: SparkSession) -> bool:
    """Whether Spark's own connector is there. What the server of Spark Connect has cannot be seen from here."""
    return has_class(spark, CONNECTOR)


def messages(spark: SparkSession, where: str, options: Mapping[str, str] | None = None) -> DataFrame:
    """The messages of a topic, as a stream. Options are those of Spark's connector, or of `KafkaSource`."""
    address = Address.of(where)
    reader = spark.readStream
    if has_connector(spark):
        reader = reader.format("kafka").option("startingOffsets", "earliest")
        named = {"kafka.bootstrap.servers": address.servers, "subscribe": address.topic}
    else:
        reader = reader.format(_registered(spark))
        named = {"servers": address.servers, "topic": address.topic}
    return reader.options(**named, **(options or {})).load()


def _registered(spark: SparkSession) -> str:
    """The name of our own source, which Spark knows from now on."""
    try:
        from .kafka_source import NAME, KafkaSource  # noqa: PLC0415  (older versions of Spark cannot have it)
    except ImportError:
        raise ConfigError(
            f"PySpark {pyspark.__version__} reads Kafka with Spark's connector only: add it (spark.jars.packages), "
            "or install PySpark 4.2 or later"
        ) from None
    spark.dataSource.register(KafkaSource)
    return NAME


def send(rows: DataFrame, where: str) -> None:
    """Each row as a message: JSON, under its operation_id. A batch that is repeated sends them again."""
    address = Address.of(where)
    messages = rows.select(F.col(S.OPERATION_ID).alias("key"), _as_json().alias("value"))
    if has_connector(rows.sparkSession):
        options = {"kafka.bootstrap.servers": address.servers, "topic": address.topic}
        messages.write.format("kafka").options(**options).save()
    else:
        messages.foreachPartition(sender(address))


def _as_json() -> Column:
    """The same text whatever the time zone of the session: a message that is sent again is the same message."""
    return F.to_json(F.struct("*"), {"timeZone": "UTC"})


def sender(address: Address) -> Callable[[Iterator[Row]], None]:
    """Sends the rows of a partition, and waits until all have arrived."""

    def sent(rows: Iterator[Row]) -> None:
        producer = library().Producer({"bootstrap.servers": address.servers, "enable.idempotence": True})
        failed: list[Any] = []
        for row in rows:
            while not _produced(producer, address.topic, row, failed):
                producer.poll(1)
        producer.flush()
        if failed:
            raise SourceError(
                f"{len(failed)} messages did not reach topic {address.topic!r} on {address.servers}: {failed[0]}"
            )

    return sent


def _produced(producer: Any, topic: str, row: Row, failed: list[Any]) -> bool:
    """False if the producer's buffer is full."""

    def arrived(error: Any, message: Any) -> None:
        if error is not None:
            failed.append(error)

    try:
        producer.produce(topic, row.value, row.key, on_delivery=arrived)
    except BufferError:
        return False
    return True


def library() -> Any:
    try:
        import confluent_kafka  # noqa: PLC0415  (an extra)
    except ImportError:
        raise ConfigError(
            "Kafka needs Spark's connector (spark.jars.packages) or confluent-kafka: pip install 'sojourn[kafka]'"
        ) from None
    return confluent_kafka
