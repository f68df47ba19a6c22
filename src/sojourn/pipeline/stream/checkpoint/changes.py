"""The rules of a checkpoint, from its start on. Each change is a file of its own, which is never changed again.

A rule that is added looks at events stamped after the newest one that the stream had read by then, so that it knows all
of them: an opening that it has missed the signals of would give a wrong outcome. A rule that is removed has looked at
those up to that time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple
from uuid import uuid4

from ....errors import ConfigError
from ....rules import duration_ms
from ..shard.ruleset import Removed, Ruleset
from ..shard.shape import Shape
from .batches import last_batch, unfinished_batch, watermark
from .files import Files
from .settings import (
    COMMON,
    FILE,
    NAME,
    OF_A_RULE,
    RULES,
    SINCE,
    Entry,
    Settings,
    are_entries,
    check_same,
    kept_settings,
    shape_of,
    unreadable,
)

FOLDER = "sojourn-rules"

OnRemoval = Literal["cancel", "leave"]
WAYS = ("cancel", "leave")

_REMOVED, _BATCH, _AT, _IS_TOLD = "removed", "batch", "at", "is_told"


@dataclass(frozen=True)
class History:
    """The rules that a checkpoint has, those that it had, and the first micro-batch under these."""

    settings: Settings
    rules: tuple[Entry, ...]
    removed: tuple[Entry, ...] = ()
    batch: int = 0
    number: int = 0
    """How many changes there were."""

    @cached_property
    def shapes(self) -> list[Shape]:
        return [shape_of(self.settings, entry) for entry in self.rules]

    @property
    def told_when_removed(self) -> list[str]:
        """The ids of removed rules whose operations are told as cancelled."""
        return [shape_of(self.settings, entry).id for entry in self.removed if entry[_IS_TOLD]]

    def to_text(self) -> str:
        """For the executors; empty if nothing has ever changed."""
        since = {entry[NAME]: entry[SINCE] for entry in self.rules if entry.get(SINCE) is not None}
        return json.dumps({SINCE: since, _REMOVED: self.removed, "settings": self._common}) if self.number else ""

    @property
    def _common(self) -> Settings:
        return {name: self.settings[name] for name in COMMON}


def ruleset_of(whole: Shape, text: str) -> Ruleset:
    """The rules as an executor has them: `text` is that of their history."""
    if not text:
        return Ruleset(whole)
    said = json.loads(text)
    removed = [Removed(shape_of(said["settings"], entry), entry[_AT], entry[_IS_TOLD]) for entry in said[_REMOVED]]
    return Ruleset(whole, said[SINCE], tuple(removed))


class Identity(NamedTuple):
    """The id of a checkpoint's stream, and its rules."""

    stream: str
    history: History


def identified(files: Files, checkpoint: str, settings: Settings, removed: OnRemoval | None = None) -> Identity:
    """Whose checkpoint it is. A new one gets an id, and keeps it with the settings.

    A checkpoint that was written under other settings is refused. Rules may be added; what becomes of those that are
    missing, `removed` must say.
    """
    if removed is not None and removed not in WAYS:
        raise ConfigError(f"removed={removed!r} is not known; allowed are {' and '.join(map(repr, WAYS))}")
    kept = kept_settings(files, checkpoint)
    if kept is None:
        kept = {"id": uuid4().hex, **settings}
        files.write_whole(f"{checkpoint.rstrip('/')}/{FILE}", json.dumps(kept, indent=2))
    check_same(kept, settings, COMMON, checkpoint)
    return Identity(str(kept["id"]), _changed(files, checkpoint.rstrip("/"), kept, settings[RULES], removed))


def history_of(files: Files, checkpoint: str, settings: Settings) -> History:
    """The rules of a checkpoint with these settings."""
    folder = f"{checkpoint.rstrip('/')}/{FOLDER}"
    numbers = [int(name.removesuffix(".json")) for name in files.names(folder) if name[:-5].isdecimal()]
    if not numbers:
        return History(settings, tuple(settings[RULES]))
    said = _read(files, _file(folder, max(numbers)))
    return History(settings, tuple(said[RULES]), tuple(said[_REMOVED]), said[_BATCH], max(numbers))


def _read(files: Files, file: str) -> dict[str, Any]:
    try:
        said = json.loads(files.read(file) or "")
    except ValueError as error:
        raise ConfigError(unreadable(file, str(error))) from None
    if not isinstance(said, dict) or not {RULES, _REMOVED, _BATCH} <= said.keys() or not are_entries(said[RULES]):
        raise ConfigError(unreadable(file, "that is not what a stream writes there"))
    return said


def _changed(files: Files, folder: str, kept: Settings, rules: list[Entry], removed: OnRemoval | None) -> History:
    old = history_of(files, folder, kept)
    done = last_batch(files, folder)
    next_batch = 0 if done is None else done + 1
    unfinished = unfinished_batch(files, folder)
    if old.number and old.batch == next_batch and unfinished is None and not _are_same(old.rules, rules):
        files.delete(_file(f"{folder}/{FOLDER}", old.number))  # nothing has been read under these rules
        old = history_of(files, folder, kept)
    _check_meanings(old.rules, rules, folder)
    missing = [entry for entry in old.rules if entry[NAME] not in _by_name(rules)]
    if not missing and len(rules) == len(old.rules):
        return old
    _check_change(missing, removed, unfinished, folder)
    newest = None if done is None else (watermark(files, folder, done) or 0) + duration_ms(kept["late"]) + 1
    new = _with_change(old, rules, missing, next_batch, newest, removed)
    said = {_BATCH: new.batch, RULES: new.rules, _REMOVED: new.removed}
    files.write_whole(_file(f"{folder}/{FOLDER}", new.number), json.dumps(said, indent=2))
    return new


def _with_change(
    old: History, rules: list[Entry], missing: list[Entry], batch: int, newest: int | None, removed: OnRemoval | None
) -> History:
    """Without an event that was read, there is nothing that a rule has missed, and nothing to remove."""
    known = _by_name(old.rules)
    entries = [known.get(entry[NAME]) or {**entry, SINCE: newest} for entry in rules]
    gone = [] if newest is None else [{**entry, _AT: newest, _IS_TOLD: removed == "cancel"} for entry in missing]
    return replace(old, rules=tuple(entries), removed=(*old.removed, *gone), batch=batch, number=old.number + 1)


def _are_same(old: Iterable[Entry], new: Iterable[Entry]) -> bool:
    return _by_name(old).keys() == _by_name(new).keys()


def _check_meanings(old: Iterable[Entry], new: Iterable[Entry], folder: str) -> None:
    """A rule that keeps its name keeps its meaning: operation ids begin with it."""
    known = _by_name(old)
    for entry in new:
        if entry[NAME] in known:
            out = "give the changed rule another name, " if entry["rule"] != known[entry[NAME]]["rule"] else ""
            check_same(known[entry[NAME]], entry, OF_A_RULE, folder, out, entry[NAME])


def _check_change(missing: list[Entry], removed: OnRemoval | None, unfinished: int | None, folder: str) -> None:
    names = ", ".join(repr(entry[NAME]) for entry in missing)
    if missing and removed is None:
        raise ConfigError(
            f"the checkpoint {folder} has also rule {names}; give it too, or say what becomes of what is pending under "
            'it: removed="cancel" (--removed cancel) tells it as cancelled, removed="leave" (--removed leave) does not'
        )
    if unfinished is not None:
        raise ConfigError(
            f"the checkpoint {folder} has a micro-batch that was begun and not completed, {unfinished}: run it once "
            "under the rules that it was begun with (--available-now), then change them"
        )


def _by_name(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    return {entry[NAME]: entry for entry in entries}


def _file(folder: str, number: int) -> str:
    return f"{folder}/{number:06}.json"
