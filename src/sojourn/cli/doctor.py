"""`sojourn doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer

from .. import __version__
from ..pipeline.spark.version import SUPPORTED, UPGRADE, is_supported
from .exits import UNUSABLE
from .spark.java import LEAST_JAVA, find_java


class Finding(NamedTuple):
    """Something Sojourn can use: what was found, or None; what it is for; and how to get it."""

    name: str
    found: str | None
    purpose: str
    remedy: str


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON.")] = False,
) -> None:
    """Say what is there, what is missing, and how to get it. Exits with 3 if anything is missing."""
    all_findings = list(findings())
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in all_findings], indent=2))
    else:
        for finding in all_findings:
            typer.echo(line(finding))
    if any(finding.found is None for finding in all_findings):
        raise typer.Exit(UNUSABLE)


def line(finding: Finding) -> str:
    mark = "ok     " if finding.found else "MISSING"
    return f"{mark}  {finding.name:<14} {finding.found or f'{finding.purpose}: {finding.remedy}'}"


def findings() -> Iterator[Finding]:
    from ..timer import IMPLEMENTATION  # noqa: PLC0415  (only this command needs it)

    yield Finding("sojourn", __version__, "", "")
    yield Finding("Python", platform.python_version(), "", "")
    compiled = IMPLEMENTATION if IMPLEMENTATION == "compiled" else None
    yield Finding(
        "compiled core",
        compiled,
        "fast timers and replays",
        "install a C compiler, then reinstall without SOJOURN_PURE",
    )
    yield Finding("pyarrow", _version("pyarrow"), "replay", "pip install 'sojourn[pipeline]'")
    yield Finding("numpy", _version("numpy"), "replay", "pip install 'sojourn[pipeline]'")
    yield _pyspark(_version("pyspark"))
    yield Finding("Java", java(), "Spark", f"install Java {LEAST_JAVA} or later, or set JAVA_HOME to one")


def _pyspark(version: str | None) -> Finding:
    """A version that is not supported counts as none."""
    if version is None or is_supported(version):
        return Finding("pyspark", version, "replay and stream on Spark", "pip install 'sojourn[spark]'")
    return Finding("pyspark", None, f"{version} is not supported", f"{SUPPORTED} is needed: {UPGRADE}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def java() -> str | None:
    """The version of Java that Spark would run on and its path, or None if there is none that is new enough."""
    found = find_java()
    return found and f"{found.version} ({found.command})"
