"""Delta and Iceberg as source and sink, and Avro: on a Spark for which their jars are at Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from parity.tables import as_outcomes, as_table
from sojourn import ConfigError
from sojourn.pipeline import stream
from sojourn.pipeline.stream.doors import lakes
from sojourn.pipeline.stream.doors.sinks import sink_of
from sojourn.pipeline.stream.doors.sources import From
from sojourn.rules import Rule
from stream.scene import EPOCH, flush
from stream.test_crash import arriving
from stream.victim import LATE, RULE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.lakes

SPARK = "4.1"
"""The version that all three have a release for: see the POM."""
POM = Path(__file__).with_name("lakes") / "pom.xml"
GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "connect-a-stream.md"
TABLE = "lake.db.outcomes"
LONGEST_S = 600


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra)

    if not pyspark.__version__.startswith(f"{SPARK}."):
        pytest.skip(f"not all of them have a release for Spark {pyspark.__version__}; `make lakes` has Spark {SPARK}")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.jars": ",".join(jars(tmp_path_factory.mktemp("jars"))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(tmp_path_factory.mktemp("lake")),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def jars(folder: Path) -> list[str]:
    """What Maven gives, without what Spark has already, perhaps in another version."""
    if shutil.which("mvn") is None:
        pytest.skip("the jars come from Maven, which is not installed")
    options = [f"-DoutputDirectory={folder}", "-DincludeScope=runtime"]
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    if done.returncode:
        pytest.skip(f"Maven does not give the jars: {done.stdout.strip()[:300]}")
    there = {_unversioned(jar) for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
    return [str(jar) for jar in sorted(folder.iterdir()) if _unversioned(jar) not in there]


def _unversioned(jar: Path) -> str:
    return re.sub(r"-\d.*", "", jar.name)


def put(lake: SparkSession, what: str, path: Path, rows: Any) -> str:
    """Appends to a table of events; its name as a source."""
    frame = lake.createDataFrame(as_table(rows))
    if what == "delta":
        frame.write.format("delta").mode("append").save(str(path / "log"))
        return f"delta:{path / 'log'}"
    name = f"lake.db.log_{path.name.replace('-', '_')}"
    (frame.writeTo(name).append if lake.catalog.tableExists(name) else frame.writeTo(name).create)()
    return f"iceberg:{name}"


@pytest.mark.parametrize("what", ["delta", "iceberg"])
def test_a_table_is_a_source_and_a_sink_that_has_each_outcome_once_though_a_batch_is_repeated(
    lake: SparkSession, tmp_path: Path, what: str
) -> None:
    log, decided = arriving(Random(2), 120)
    checkpoint = str(tmp_path / "state")
    target = f"delta:{tmp_path / 'told'}" if what == "delta" else f"iceberg:{TABLE}_{tmp_path.name}".replace("-", "_")
    options = {"unit": "ms", "shards": 3, "late": f"{LATE} ms"}

    def run(source: str, *, is_broken: bool = False) -> None:
        events = From(source).read(lake, RULE, {})
        sink = sink_of(lake, target, checkpoint)
        if is_broken:
            whole = sink._deliver

            def deliver(rows: DataFrame, table: str, batch: stream.MicroBatch) -> None:
                whole(rows, table, batch)
                raise OSError("away")

            sink._deliver = deliver
        outcomes = stream.outcomes(events, RULE, **options)  # type: ignore[arg-type]
        stream.start(outcomes, sink, checkpoint=checkpoint, available_now=True).awaitTermination()

    source = put(lake, what, tmp_path, log[:60])
    run(source)
    put(lake, what, tmp_path, log[60:])
    put(lake, what, tmp_path, [flush(EPOCH + 10**6)])
    with pytest.raises(Exception, match="away"):
        run(source, is_broken=True)
    run(source)
    name = target.partition(":")[2]
    told = lake.read.format("delta").load(f"{name}/outcomes") if what == "delta" else lake.table(name)
    assert as_outcomes(told.toArrow()) == decided
    assert len(decided) > 10


def test_avro_messages_become_columns_as_the_guide_shows(lake: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415  (an extra)
    from pyspark.sql.avro.functions import to_avro  # noqa: PLC0415

    section = GUIDE.read_text().partition("## Messages: JSON, Avro, headers\n")[2].partition("\n## ")[0]
    recipe = re.findall(r"```python3\n(.*?)```", section, re.DOTALL)[1]
    rows = lake.sql("SELECT * FROM VALUES ('a', 'open', 0), ('a', 'paid', 2), ('b', 'x', 9000) AS t(id, type, s)")
    payment = F.struct("id", "type", F.timestamp_seconds("s").alias("at"))
    schema = re.findall(r'"""(.*?)"""', recipe, re.DOTALL)[0]
    values = rows.select(to_avro(payment, schema).alias("value"))
    values.write.parquet(str(tmp_path / "messages"))
    messages = lake.readStream.schema("value binary").parquet(str(tmp_path / "messages"))
    given: dict[str, Any] = {"F": F, "messages": messages}
    exec(recipe, given)
    outcomes = stream.outcomes(given["events"], Rule("r", "open", "paid", within="1 min"), late="0 s", shards=2)
    query = stream.write(outcomes, str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), available_now=True)
    query.awaitTermination()
    told = lake.read.parquet(str(tmp_path / "out" / "outcomes")).collect()
    assert [(row.key, row.outcome, row.waited_ms) for row in told] == [("a", "completed", 2000)]


def test_without_its_jar_a_table_is_refused_before_anything_starts(
    lake: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lakes, "has_class", lambda spark, name: False)
    for text, what in ((f"delta:{tmp_path}", "delta"), (f"iceberg:{TABLE}", "iceberg")):
        with pytest.raises(ConfigError, match=f"{what} needs its jar for this Spark"):
            sink_of(lake, text, str(tmp_path))
        with pytest.raises(ConfigError, match=f"{what} needs its jar for this Spark"):
            From(text).read(lake, RULE, {})
