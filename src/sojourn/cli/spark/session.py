"""A Spark session for a command: quiet, in UTC, and with an error that helps where Spark cannot start."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from ...pipeline import ship
from ...pipeline.spark.version import check_version
from .class_archive import ClassArchive, archive_for
from .java import LEAST_JAVA, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
MEMORY_SHARE = 0.4
"""How much of the machine's memory Spark may have where it runs in one process."""

PARTITION_BYTES = 1 << 27
"""About how much of a log is decided at once by each processor: so memory does not grow with the log."""

QUICK_JAVA = " -XX:TieredStopAtLevel=1"
"""For a session that ends with its job: most of Spark's code runs for seconds, too short for thorough compilation to
pay off. Nothing in Java touches an event."""

DRIVER = "spark.driver."
JAVA_OPTIONS = f"{DRIVER}extraJavaOptions"

PANDAS_3 = "PySpark does not yet fully support pandas"
"""How a warning of PySpark's begins: it is not for those who run a command, in which nothing is pandas'."""

NO_PANDAS = "spark.executorEnv.SOJOURN_NO_PANDAS"
"""For such a session, too: its Python workers have no tasks but ours (see `pipeline.spark`)."""


@contextmanager
def spark_session(
    master: str | None, conf: Mapping[str, str], *, is_quiet: bool, log_bytes: int | None = None
) -> Iterator[SparkSession]:
    """A session, stopped at the end unless it was there before. `conf` has the last word.

    `log_bytes` is the size of the log, as far as it is known, if all that it does is to replay one.
    """
    import pyspark  # noqa: PLC0415  (an extra, and slow to load)
    from pyspark.sql import SparkSession  # noqa: PLC0415

    check_version(pyspark.__version__)
    warnings.filterwarnings("ignore", PANDAS_3, FutureWarning)
    existing = SparkSession.getActiveSession()
    if existing is not None:
        yield existing
        return
    java = find_java()
    if java is None:
        raise SourceError(
            f"Spark needs Java {LEAST_JAVA} or later, and there is none: install it, or set JAVA_HOME to one. "
            "--engine local needs neither"
        )
    os.environ.setdefault("PYSPARK_PYTHON", conf.get("spark.pyspark.python", sys.executable))  # or any python3 it finds
    with as_file(files(__package__).joinpath("log4j2.properties")) as log4j, _stderr_to(is_quiet) as said:
        settings = {**_settings(master, log4j if is_quiet else None, log_bytes), **conf}
        is_changed = any(name.startswith(DRIVER) for name in conf)  # so that an archive might not fit, or fit no other
        is_archived = is_quiet and QUICK_JAVA in settings[JAVA_OPTIONS] and not is_changed
        try:
            archive = archive_for(java) if is_archived else None
            spark = _started(settings, archive, is_silent=is_quiet and log_bytes is not None)
        except Exception as error:
            raise SourceError(f"Spark does not start: {_last_words(said) or error}") from error
    with _root_logger_silent(is_quiet):
        try:
            ship(spark)
            yield spark
        finally:
            spark.stop()


def _started(settings: Mapping[str, str], archive: ClassArchive | None, *, is_silent: bool) -> SparkSession:
    """A new session: with the archive or, if Java cannot start from it, without.

    `is_silent` says that Java has nothing to say on stdout.
    """
    from pyspark import SparkContext  # noqa: PLC0415  (an extra, and slow to load)

    options = "" if archive is None else archive.options()
    try:
        return _new_session({**settings, JAVA_OPTIONS: settings[JAVA_OPTIONS] + options}, is_silent)
    except Exception:
        if archive is None or not options or SparkContext._gateway is not None:
            raise
        archive.discard()
        return _new_session(settings, is_silent)


def _new_session(settings: Mapping[str, str], is_silent: bool) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415  (an extra, and slow to load)

    builder = SparkSession.builder.appName("sojourn replay")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _same_ctrl_c(), _no_orphans(is_silent):
        return builder.getOrCreate()


@contextmanager
def _same_ctrl_c() -> Iterator[None]:
    """PySpark would have Ctrl-C talk to the Java virtual machine, perhaps in the middle of another conversation."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _no_orphans(is_silent: bool) -> Iterator[None]:
    """An interruption inside this block ends the Java virtual machine that was started.

    PySpark forgets it, and it would not end by itself: it waits for a connection that never comes. If it is silent, its
    stdout is stderr, so that whoever reads ours to the end need not wait until Java has ended, too.
    """
    from pyspark import java_gateway  # noqa: PLC0415  (an extra, and slow to load)

    gateway: Any = java_gateway
    started: list[Popen[bytes]] = []

    def noted(*arguments: Any, **options: Any) -> Popen[bytes]:
        with _ctrl_c_later():
            process = Popen(*arguments, **({**options, "stdout": 2} if is_silent else options))
            started.append(process)
        return process

    before, gateway.Popen = gateway.Popen, noted
    try:
        yield
    except Exception:
        raise
    except BaseException:
        for process in started:
            process.kill()
            process.wait()
        raise
    finally:
        gateway.Popen = before


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """An interruption inside this block takes effect at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt


@contextmanager
def _root_logger_silent(is_quiet: bool) -> Iterator[None]:
    """Py4J logs there, with a traceback, that it was interrupted. Other loggers are not affected."""
    root = logging.getLogger()

    def refuse(record: logging.LogRecord) -> bool:
        return not is_quiet

    root.addFilter(refuse)
    try:
        yield
    finally:
        root.removeFilter(refuse)


def _settings(master: str | None, log4j: Path | None, log_bytes: int | None) -> dict[str, str]:
    from ...pipeline.spark.schema import ARROW, MICROS, ON_ONE_MACHINE, SOCKETS, UNCHECKED  # noqa: PLC0415  (needs Spark)

    where = master or os.environ.get("MASTER") or LOCAL
    settings = {
        "spark.master": where,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        **ARROW,
        **MICROS,
        **SOCKETS,
    }
    if where.startswith("local"):
        settings |= {
            **ON_ONE_MACHINE,
            "spark.driver.memory": f"{_memory_mb()}m",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(_partitions(log_bytes or 0)),
        }
    is_brief = where.startswith("local") and log_bytes is not None
    if is_brief:
        settings[NO_PANDAS] = "1"
    quiet = f" -Dlog4j2.configurationFile={log4j.as_uri()}" if log4j is not None else ""
    return {**settings, JAVA_OPTIONS: UNCHECKED + quiet + (QUICK_JAVA if is_brief else "")}


def _partitions(log_bytes: int) -> int:
    """The same number for each processor."""
    processors = os.cpu_count() or 1
    return processors * max(1, -(-log_bytes // (processors * PARTITION_BYTES)))


def _memory_mb() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 4 << 30
    return max(1_024, int(total * MEMORY_SHARE) >> 20)


@contextmanager
def _stderr_to(is_quiet: bool) -> Iterator[Path | None]:
    """While Spark starts, stderr is a file: the Java virtual machine keeps the stderr that it is started with."""
    if not is_quiet:
        yield None
        return
    kept = os.dup(2)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "spark.log"
        with said.open("wb") as file:
            os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _last_words(said: Path | None) -> str:
    lines = said.read_text("utf-8", "replace").strip().splitlines() if said else []
    return next((line for line in reversed(lines) if "rror" in line or "xception" in line), "")
