"""This package, sent to where Spark's tasks run: their Python needs its modules, besides NumPy and PyArrow."""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_shipped: set[str] = set()


def ship(spark: SparkSession) -> None:
    """Send this package to the workers of a session, of a cluster or of Spark Connect, unless it has been sent already.

    Without it, and without the package installed there, tasks fail with `No module named 'sojourn'`. The workers must
    have NumPy and PyArrow themselves. Where Spark runs in one process (`local[*]`) there is nothing to do.
    """
    context = getattr(spark, "sparkContext", None)  # which Spark Connect does not have
    if context is not None and re.match(r"local(\[|$)", context.master or ""):
        return
    session = f"{spark.session_id}" if context is None else f"{context.applicationId}"  # type: ignore[attr-defined]
    if session in _shipped:
        return
    if context is None:
        spark.addArtifacts(_package(), pyfile=True)
    else:
        context.addPyFile(_package())
    _shipped.add(session)


@cache
def _package() -> str:
    """The zip, for as long as this process lives: workers that start later fetch it from there."""
    folder = tempfile.mkdtemp(prefix="sojourn-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(packed(Path(folder)))


def packed(folder: Path) -> Path:
    """This package as a zip of its modules, without its compiled parts: a zip cannot hold them; none is needed."""
    root = Path(__file__).parents[1]
    path = folder / "sojourn.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(root.rglob("*.py")):
            archive.write(file, file.relative_to(root.parent))
    return path
