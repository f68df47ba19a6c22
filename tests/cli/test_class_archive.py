"""Java's class archive: made once, used afterwards, and never in the way."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pyspark
import pytest

from sojourn.cli.spark import session
from sojourn.cli.spark.class_archive import KEPT_S, RETRY_S, SWITCH, ClassArchive, archive_for, cache_folder
from sojourn.cli.spark.java import Java, find_java

FINISHED = bytes.fromhex("a8ab0bf0") + b"the rest"
JAVA = Java("17.0.1", "/usr/bin/java", "OpenJDK 64-Bit Server VM (build 17.0.1, mixed mode, sharing)")


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "cache" / "sojourn", "Java 17", [_jar(tmp_path)])


def _jar(folder: Path, content: bytes = b"classes") -> Path:
    jar = folder / "spark.jar"
    jar.write_bytes(content)
    return jar


def _age(file: Path, seconds: float) -> None:
    then = file.stat().st_mtime - seconds
    os.utime(file, (then, then))


def test_one_command_makes_the_archive_and_later_ones_start_from_it(archive: ClassArchive) -> None:
    assert f'"-XX:ArchiveClassesAtExit={archive.draft}"' in archive.options()
    assert archive.options() == ""  # somebody else's, meanwhile
    assert archive.is_under_way()
    archive.draft.write_bytes(b"\0" * len(FINISHED))  # the beginning is written last
    assert archive.options() == ""
    archive.draft.write_bytes(FINISHED)
    assert not archive.is_under_way()
    assert [f'"-XX:SharedArchiveFile={archive.file}"' in archive.options() for _ in range(2)] == [True, True]
    assert not archive.draft.exists()


def test_an_archive_that_was_never_finished_is_begun_again_a_day_later(archive: ClassArchive) -> None:
    archive.options()
    _age(archive.draft, RETRY_S + 60)
    assert not archive.is_under_way()
    assert "ArchiveClassesAtExit" in archive.options()
    assert archive.options() == ""


def test_another_java_or_other_jars_have_an_archive_of_their_own(archive: ClassArchive, tmp_path: Path) -> None:
    folder, jar = archive.file.parent, tmp_path / "spark.jar"
    files = {archive.file, ClassArchive(folder, "Java 18", [jar]).file}
    files.add(ClassArchive(folder, "Java 17", [_jar(tmp_path, b"other classes")]).file)
    assert len(files) == 3


def test_an_archive_that_nobody_uses_is_removed_when_another_is_made(archive: ClassArchive) -> None:
    archive.file.parent.mkdir(parents=True)
    unused, used = (archive.file.with_name(f"spark-{name}.jsa") for name in ("unused", "used"))
    for file in (unused, used):
        file.write_bytes(FINISHED)
    _age(unused, KEPT_S + 60)
    archive.options()
    assert (unused.exists(), used.exists()) == (False, True)


def test_where_nothing_can_be_written_spark_starts_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert ClassArchive(tmp_path / "file" / "sojourn", "Java 17", [_jar(tmp_path)]).options() == ""


@pytest.mark.parametrize("name", ["a:b", 'a"b', "a\\b"])
def test_a_folder_whose_name_java_would_misread_is_not_used(tmp_path: Path, name: str) -> None:
    assert ClassArchive(tmp_path / name, "Java 17", [_jar(tmp_path)]).options() == ""
    assert not (tmp_path / name).exists()


def test_the_archive_is_in_the_users_cache_unless_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv(SWITCH, "0")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    found = archive_for(JAVA)
    assert found is not None
    assert found.file.parent == Path("/caches/sojourn") == cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", "/house/me")
    assert str(cache_folder()).startswith("/house/me/")
    assert archive_for(JAVA._replace(said="OpenJDK 64-Bit Server VM (build 17.0.1, mixed mode)")) is None
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert archive_for(JAVA) is None
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv(SWITCH, "1")
    assert archive_for(JAVA) is None


def test_if_java_does_not_come_up_with_an_archive_spark_starts_without(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def new_session(settings: dict[str, str], is_silent: bool) -> str:
        tried.append(settings[session.JAVA_OPTIONS])
        if len(tried) == 1:
            raise RuntimeError("Java gateway process exited before sending its port number")
        return "a session"

    monkeypatch.setattr(session, "_new_session", new_session)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    archive.options()
    archive.draft.write_bytes(FINISHED)
    assert session._started({session.JAVA_OPTIONS: "-Dours=1"}, archive, is_silent=True) == "a session"
    assert ["SharedArchiveFile" in options for options in tried] == [True, False]
    assert tried[1] == "-Dours=1"
    assert not archive.file.exists()
    assert archive.options() == ""  # nor is another made at once


def test_if_spark_fails_for_another_reason_it_is_not_started_twice(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    def new_session(settings: dict[str, str], is_silent: bool) -> None:
        raise ValueError("no such master")

    monkeypatch.setattr(session, "_new_session", new_session)
    monkeypatch.setattr("pyspark.SparkContext._gateway", "a gateway: Java has answered")
    archive.options()
    archive.draft.write_bytes(FINISHED)
    with pytest.raises(ValueError, match="no such master"):
        session._started({session.JAVA_OPTIONS: ""}, archive, is_silent=True)
    assert archive.file.exists()


@pytest.mark.java
def test_java_makes_an_archive_uses_it_and_ignores_another_all_in_silence(tmp_path: Path) -> None:
    java = find_java()
    if java is None or "sharing" not in java.said:
        pytest.skip("this Java shares no classes")
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
    archive = ClassArchive(tmp_path, java.said, [_jar(tmp_path)])

    def started(*more: str) -> str:
        options = [*shlex.split(archive.options()), *more]
        main = ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit", "a.py"]
        command = [java.command, *options, "-cp", f"{home}/jars/*", *main]
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert "a.py" in ended.stdout
        return ended.stdout + ended.stderr

    said = started()
    assert not archive.is_under_way()
    assert archive.draft.exists()
    assert started() == said
    loaded = tmp_path / "loaded.txt"
    started(f"-Xlog:class+load:file={loaded}")
    assert "launcher.Main source: shared objects file (top)" in loaded.read_text()
    archive.file.unlink()
    archive.file.write_bytes(FINISHED * 10_000)
    assert started() == said
