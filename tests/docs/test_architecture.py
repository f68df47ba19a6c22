"""How the house is built: the rooms that the page shows are there, and what its walks name is where they say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/architecture.md").read_text()
SOURCE = [path for pattern in ("*.py", "*.pyx") for path in (ROOT / "src/sojourn").rglob(pattern)]

NAMED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE.partition("## Where the law is written")[2])))
"""What the page says in code: files, functions of a file, or functions and classes anywhere."""


@cache
def files(path: str) -> list[Path]:
    """Those that the page may mean: it names a file by the end of its path."""
    return [file for file in SOURCE if f"/{file.relative_to(ROOT)}".endswith(f"/{path}")]


def defines(file: Path, name: str) -> bool:
    *owner, last = name.split(".")
    return all(re.search(rf"\b(?:def|class) {part}\b|\b{part}: ", file.read_text()) for part in (*owner[:1], last))


@pytest.mark.parametrize("named", NAMED)
def test_what_a_walk_names_is_where_it_says(named: str) -> None:
    path, _, name = re.sub(r"\(.*\)$", "", named).rpartition(": ")
    if re.fullmatch(r"[\w/]+\.pyx?", path or name):
        there = files(path or name)
        assert there, f"there is no {path or name}"
        assert not path or any(defines(file, name) for file in there), f"{path} has no {name}"
    elif re.fullmatch(r"[\w.]+", name):
        assert any(defines(file, name) for file in SOURCE), f"nothing defines {name}"


def test_the_rooms_that_the_page_shows_are_there() -> None:
    tree = PAGE.partition("```\n")[2].partition("```")[0]
    rooms = re.findall(r"(?<!\w)([a-z_]+(?:/|\.pyx?))(?=\s|$)", tree)
    assert rooms
    missing = [room for room in rooms if not (files(room) or list((ROOT / "src").glob(f"**/{room}")))]
    assert missing == []
