"""Java's classes, kept from one command to the next: half of the work of starting Spark is to load them.

The first replay has Java write an archive of the classes that it has loaded, when it ends (class data sharing). Later
ones start from it. Java itself checks whether an archive belongs to it and to the jars of Spark, and ignores any other.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..._arguments import is_set
from .java import Java

SWITCH = "SOJOURN_NO_CLASS_ARCHIVE"
"""A variable of the environment: 1 means that no archive is used, and none made."""

RETRY_S = 24 * 3600
"""How long after an archive was begun, and not finished, another attempt may be made."""

KEPT_S = 30 * RETRY_S
"""How long an archive is kept that nobody uses: of another Java, or of another PySpark."""

_MAGIC = bytes.fromhex("f00baba8")
"""How an archive begins, in either order: Java writes the beginning last."""

_SILENT = "-XX:+IgnoreUnrecognizedVMOptions -Xlog:disable"
_CHECKED = "-XX:+VerifySharedSpaces"


def cache_folder() -> Path | None:
    """The user's cache folder for Sojourn; None where no archive is to be kept."""
    if is_set(os.environ.get(SWITCH)) or os.name != "posix":  # on Windows, PySpark kills Java at the end
        return None
    try:
        home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    except RuntimeError:  # this user has no home folder
        return None
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(chosen) if os.path.isabs(chosen) else home) / "sojourn"


def archive_for(java: Java) -> ClassArchive | None:
    """None unless Java shares classes already, as it says, and Spark is PySpark's own.

    Other installations have folders among their classes, which no archive can hold.
    """
    import pyspark  # noqa: PLC0415  (an extra)

    folder = cache_folder()
    if folder is None or "SPARK_HOME" in os.environ or "sharing" not in java.said:
        return None
    jars = list(Path(pyspark.__file__).parent.glob("jars/*.jar"))
    return ClassArchive(folder, f"{java.command} {java.said}", jars) if jars else None


class ClassArchive:
    """The archive in a folder for one Java and these jars. `draft` is where it is made, by one command at a time."""

    def __init__(self, folder: Path, java: str, jars: Sequence[Path]) -> None:
        told = [java, *(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in sorted(jars))]
        name = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
        self.file = folder / f"spark-{name}.jsa"
        self.draft = self.file.with_suffix(".draft")

    def options(self) -> str:
        """Options that have Java start from the archive or, if there is none yet, write it when it ends."""
        if re.search(r'[":\\]', str(self.file)):  # which Java or Spark would take for something else
            return ""
        with suppress(OSError):
            if self._is_there():
                os.utime(self.file)
                return f' {_SILENT} {_CHECKED} "-XX:SharedArchiveFile={self.file}"'
            if self._begin():
                return f' {_SILENT} "-XX:ArchiveClassesAtExit={self.draft}"'
        return ""

    def discard(self) -> None:
        """Java could not start from it: do not use it again, nor make another one for a while."""
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self.draft.touch()

    def is_under_way(self, within_s: float = RETRY_S) -> bool:
        """Whether a command began to make it within that time, and Java has not finished."""
        try:
            age_s = time.time() - self.draft.stat().st_mtime
        except FileNotFoundError:
            return False
        return age_s <= within_s and not _is_finished(self.draft)

    def _is_there(self) -> bool:
        if self.file.exists():
            return True
        if not _is_finished(self.draft):
            return False
        with suppress(FileNotFoundError):  # another command was quicker
            self.draft.replace(self.file)
        return self.file.exists()

    def _begin(self) -> bool:
        """Whether this command is the one that makes it."""
        self.draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in self.file.parent.glob("spark-*"):
            if time.time() - old.stat().st_mtime > KEPT_S:
                old.unlink()
        if not self.is_under_way():
            self.draft.unlink(missing_ok=True)
        try:
            self.draft.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            return False
        return True


def _is_finished(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) in (_MAGIC, _MAGIC[::-1])
    except FileNotFoundError:
        return False
