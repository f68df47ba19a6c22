"""Small files on whatever file system Spark can reach."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from ....errors import ConfigError
from ...spark.version import is_connect

NOT_ON_CONNECT = (
    "stream.write, stream.deliver and what reads a checkpoint use the file system of the driver, which a session of "
    "Spark Connect does not reach; on Spark Connect start the query with outcomes.writeStream, as the guide "
    "'How to run a rule on a stream' shows, or use a session of Spark itself"
)


class Files:
    """Hadoop's file systems, for the little that is needed of them."""

    def __init__(self, spark: SparkSession) -> None:
        if is_connect(spark):
            raise ConfigError(NOT_ON_CONNECT)
        self._jvm: Any = spark.sparkContext._jvm
        self._conf: Any = spark.sparkContext._jsc.hadoopConfiguration()

    def full(self, path: str) -> str:
        """The path with its file system, from the root on."""
        at, files = self._at(path)
        return str(files.makeQualified(at).toString())

    def is_local(self, path: str) -> bool:
        return self.full(path).startswith("file:")

    def exists(self, path: str) -> bool:
        at, files = self._at(path)
        return bool(files.exists(at))

    def rename(self, old: str, new: str) -> None:
        """Atomic where the file system's own is: on HDFS and on local disks."""
        at, files = self._at(old)
        target, _ = self._at(new)
        files.mkdirs(target.getParent())
        if not files.rename(at, target):
            raise OSError(f"cannot rename {old} to {new}")

    def delete(self, path: str) -> None:
        at, files = self._at(path)
        files.delete(at, True)

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing if it is not there."""
        at, files = self._at(path)
        return [entry.getPath().getName() for entry in files.listStatus(at)] if files.exists(at) else []

    def read(self, path: str) -> str | None:
        """The text of a file; None if there is none."""
        at, files = self._at(path)
        if not files.exists(at):
            return None
        stream = files.open(at)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, path: str, text: str) -> None:
        at, files = self._at(path)
        stream = files.create(at, True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def write_whole(self, path: str, text: str) -> None:
        """A new file that appears with all of its text, or not at all."""
        draft = f"{path}.draft"
        self.write(draft, text)
        self.rename(draft, path)

    def _at(self, path: str) -> tuple[Any, Any]:
        at = self._jvm.org.apache.hadoop.fs.Path(path)
        return at, at.getFileSystem(self._conf)
