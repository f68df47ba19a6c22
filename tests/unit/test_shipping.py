"""The package, as it is sent to Spark's workers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sojourn import pipeline
from sojourn.pipeline import shipping


class Context:
    """As much of a SparkContext as shipping asks for."""

    def __init__(self, name: str, master: str) -> None:
        self.applicationId = name
        self.master = master
        self.files: list[str] = []

    def addPyFile(self, path: str) -> None:  # noqa: N802  (as Spark has it)
        self.files.append(path)


class Classic:
    def __init__(self, name: str, master: str = "spark://host:7077") -> None:
        self.sparkContext = Context(name, master)


class Connect:
    """A session without a context, as of Spark Connect: PySpark's error is an AttributeError, too."""

    session_id = "connected"

    def __init__(self) -> None:
        self.files: list[tuple[str, bool]] = []

    def addArtifacts(self, *paths: str, pyfile: bool = False) -> None:  # noqa: N802
        self.files += [(path, pyfile) for path in paths]


@pytest.fixture(autouse=True)
def nothing_was_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "_shipped", set())


def test_a_cluster_gets_the_package_as_modules_only(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = shipping.packed(tmp_path)
    look = (
        f"import sys; sys.path.insert(0, {str(path)!r}); "
        "import sojourn.pipeline.spark.worker, sojourn.pipeline.results.tally; "
        "print(sojourn.__file__, sojourn.timer.IMPLEMENTATION, sojourn.pipeline._build.core)"
    )
    ended = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == [f"{path}/sojourn/__init__.py", "pure", "None"]


def test_a_session_gets_the_package_once_and_it_stays_where_it_is_fetched_from() -> None:
    first: Any = Classic("first")
    second: Any = Classic("second")
    for session in (first, second, first):
        pipeline.ship(session)
    assert first.sparkContext.files == second.sparkContext.files
    assert [Path(file).name for file in first.sparkContext.files] == ["sojourn.zip"]
    assert Path(first.sparkContext.files[0]).exists()


@pytest.mark.parametrize(
    ("master", "number"),
    [("local", 0), ("local[*]", 0), ("local[2,3]", 0), ("local-cluster[1,1,512]", 1), ("yarn", 1), ("k8s://x", 1)],
)
def test_where_there_are_no_workers_elsewhere_nothing_is_sent(master: str, number: int) -> None:
    session: Any = Classic("here", master)
    pipeline.ship(session)
    assert len(session.sparkContext.files) == number


def test_spark_connect_gets_it_as_an_artifact_of_the_session() -> None:
    session: Any = Connect()
    pipeline.ship(session)
    pipeline.ship(session)
    assert [(Path(path).name, pyfile) for path, pyfile in session.files] == [("sojourn.zip", True)]


def test_what_could_not_be_sent_is_sent_next_time() -> None:
    session: Any = Connect()
    add, session.addArtifacts = session.addArtifacts, None
    with pytest.raises(TypeError):
        pipeline.ship(session)
    session.addArtifacts = add
    pipeline.ship(session)
    assert len(session.files) == 1


def test_to_ask_for_it_takes_no_extras() -> None:
    hide = "import sys; sys.modules.update(dict.fromkeys(('numpy', 'pyarrow', 'pyspark'))); import sojourn.pipeline"
    subprocess.run([sys.executable, "-c", hide], check=True)
