"""On which line of a TOML text a setting is. The standard library's parser does not tell, so we look for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADER = re.compile(r"""\s*\[{1,2}([\w.\-"' ]+)\]{1,2}\s*(?:#.*)?$""")
_KEY = re.compile(r"""\s*([\w.\-"' ]+)=""")

Path = tuple[str, ...]


def line_of(text: str, path: Path, inside: str | None = None) -> int:
    """The number of the line on which the setting at `path` starts, or else the nearest table around it.

    `inside` names a setting somewhere within its value: if just one line has it, that is the line.
    """
    lines = text.split("\n")
    settings = list(_settings(lines))
    start, _ = max(settings, key=lambda setting: _closeness(setting[1], path), default=(1, ()))
    if inside is None:
        return start
    end = next((line for line, found in settings if line > start and found[: len(path)] != path), len(lines) + 1)
    assigned = re.compile(rf"""(?<![\w-]){re.escape(inside)}["']?\s*=""")
    having = [line for line in range(start, end) if assigned.search(lines[line - 1])]
    return having[0] if len(having) == 1 else start


def _settings(lines: list[str]) -> Iterator[tuple[int, Path]]:
    """Each line that opens a table or assigns a key, with the full path of keys."""
    table: Path = ()
    for number, line in enumerate(lines, start=1):
        if header := _HEADER.match(line):
            table = _keys(header[1])
            yield number, table
        elif key := _KEY.match(line):
            yield number, table + _keys(key[1])


def _keys(dotted: str) -> Path:
    return tuple(key.strip(" \"'") for key in dotted.split("."))


def _closeness(found: Path, path: Path) -> int:
    """How many keys of `path` a line shares; none if it leads elsewhere."""
    shared = min(len(found), len(path))
    return shared if found[:shared] == path[:shared] else 0
