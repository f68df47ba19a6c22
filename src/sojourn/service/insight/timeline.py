"""One wait as the log tells it: what has come on its keys, what counted, and what only just did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...durable.log import records as r
from ...durable.log.files import Files
from ...durable.log.segments import Header, Position, headers, layout, segment_name
from ...durable.state.incidents import FAR, Incident
from ...durable.state.wait import Wait
from ..api.shapes import json_bytes

MOST_BYTES = 512 * 2**20
"""Of the log that are looked through for one wait."""
MOST_STEPS = 200
BEFORE_MS = 3_600_000
"""How long before the opening a signal may have missed it."""


class Told(NamedTuple):
    """What is known of a wait when its timeline is asked for: taken in the hub's turn."""

    seq: int
    keys: tuple[str, ...]
    kinds: frozenset[str]
    opened_at: int
    deadline: int
    ended_at: int | None
    outcome: str | None
    rule: str

    @staticmethod
    def of(wait: Wait) -> Told:
        ended_at = wait._ended_at if wait._ending is not None else None
        kinds = frozenset(wait._plan.kinds)
        return Told(wait.seq, wait.keys, kinds, wait.opened_at, wait.deadline, ended_at, wait._ending, wait.rule)


class Timeline(NamedTuple):
    steps: list[dict[str, Any]]
    is_partial: bool
    """Whether the log is too long, or no longer long enough, to tell everything."""


def timeline(files: Files, until: Position, wait: Told, acts: list[Incident]) -> Timeline:
    """Read the log from the opening on, up to that place."""
    found = headers(files, layout(files).segments)
    started = [header for header in found if header.stamp <= wait.opened_at]
    chosen = [header for header in found if not started or header.segment >= started[-1].segment]
    steps: list[dict[str, Any]] = [{"at": wait.opened_at, "what": "opened"}]
    left, is_partial = MOST_BYTES, not started
    for header, following in zip(chosen, [*chosen[1:], None], strict=True):
        size = until.offset if following is None else following.previous_end
        left -= size
        if left < 0 or len(steps) > MOST_STEPS:
            is_partial = True
            break
        steps += _steps(files, header, size, wait)
    steps += [_act(act) for act in acts if _is_moved(act, wait)]
    if wait.ended_at is not None:
        steps.append({"at": wait.ended_at, "what": wait.outcome})
    return Timeline(sorted(steps, key=lambda step: step["at"])[:MOST_STEPS], is_partial)


def _steps(files: Files, header: Header, size: int, wait: Told) -> Iterator[dict[str, Any]]:
    data = files.read(segment_name(header.segment), 0, size)
    needles = [json_bytes(key) for key in wait.keys]
    extended = b",%d," % wait.seq
    if not any(needle in data for needle in (*needles, extended)):
        return
    for type_, body in _bodies(data):
        if type_ == r.SIGNAL and any(needle in body for needle in needles):
            yield from _signals(wait, *r.read_body(memoryview(body)))
        elif type_ == r.EXTEND and extended in body:
            stamp, seq, deadline = r.read_body(memoryview(body))
            if seq == wait.seq and (stamp > wait.opened_at or deadline - stamp < FAR // 2):  # else its clock stood
                yield {"at": stamp, "what": "extended", "deadline": deadline}


def _bodies(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Of the kinds of records that are looked for; where each begins follows from the one before."""
    offset = data.index(b"\n") + 1
    while offset + r.SIZE <= len(data):
        magic, type_, _, length, _ = r.HEADER.unpack_from(data, offset)
        if magic != r.MAGIC:
            return
        start = offset + r.SIZE
        if type_ in (r.SIGNAL, r.EXTEND):
            yield type_, data[start : start + length]
        offset = start + length


def _signals(
    wait: Told, stamp: int, kinds: Any, keys: list[str], sources: Any, values: Any, ids: Any, ats: Any
) -> Iterator[dict[str, Any]]:
    for i, key in enumerate(keys):
        if key not in wait.keys:
            continue
        at = stamp if ats is None or ats[i] is None else ats[i]
        if at < wait.opened_at - BEFORE_MS:
            continue
        kind = kinds if isinstance(kinds, str) else kinds[i]
        step = {"at": at, "what": "signal", "kind": kind, "key": key, "note": _note(wait, kind, at)}
        step["source"] = None if sources is None else sources[i]
        step["value"] = None if values is None else values[i]
        yield step


def _note(wait: Told, kind: str, at: int) -> str:
    """counted, not awaited; or how it missed: before it, or after it."""
    if kind not in wait.kinds:
        return "not awaited"
    if at < wait.opened_at:
        return "before it was opened"
    return "counted" if wait.ended_at is None or at <= wait.ended_at else "after it had ended"


def _is_moved(act: Incident, wait: Told) -> bool:
    is_meant = act.rule in (None, wait.rule) and any(key.startswith(act.key_prefix or "") for key in wait.keys)
    was_there = act.at > wait.opened_at and (wait.ended_at is None or act.at <= wait.ended_at)
    return is_meant and was_there


def _act(act: Incident) -> dict[str, Any]:
    by_ms = None if abs(act.by_ms) > FAR // 2 else act.by_ms
    return {"at": act.at, "what": act.act, "incident": act.number, "by_ms": by_ms, "note": act.note}
