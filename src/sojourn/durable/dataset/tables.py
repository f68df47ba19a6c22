"""The records of a segment as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from ...rules import Rule
from ..log import records as r
from .schema import CHANGES, EVENTS, TOLD

Plans = dict[int, Rule]
"""The rules of a folder, by number. What a number means never changes."""


class Tables(NamedTuple):
    events: pa.Table
    outcomes: pa.Table
    changes: pa.Table


def tables_of(segment: int, records: Iterable[r.Record], plans: Plans) -> Tables:
    """All that a segment says. Rules that it brings are added to `plans`."""
    rows = _Rows(segment, plans)
    for record in records:
        rows.add(record)
    return Tables(rows.events.table(), rows.told.table(), rows.changes.table())


class _Columns:
    """A table that grows by several rows at a time. What is not said is null."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns: dict[str, list[Any]] = {name: [] for name in schema.names}

    def add(self, count: int, same: dict[str, Any], **columns: Sequence[Any] | None) -> None:
        """`same` is what all these rows have in common."""
        for name, column in self._columns.items():
            values = columns.get(name)
            column.extend([same.get(name)] * count if values is None else values)

    def table(self) -> pa.Table:
        arrays = [pa.array(self._columns[field.name], field.type) for field in self._schema]
        return pa.Table.from_arrays(arrays, schema=self._schema)


class _Rows:
    def __init__(self, segment: int, plans: Plans) -> None:
        self._segment, self._plans = segment, plans
        self.events, self.told, self.changes = _Columns(EVENTS), _Columns(TOLD), _Columns(CHANGES)

    def add(self, record: r.Record) -> None:
        body = r.read_body(record.body)
        where = {"segment": self._segment, "offset": record.offset, "stamp": body[0]}
        match record.type:
            case r.WAIT:
                self._waits(where, *body)
            case r.SIGNAL:
                self._signals(where, *body)
            case r.TOLD:
                self._outcomes(where, *body)
            case _:
                if record.type == r.RULE:
                    self._plans[body[1]] = Rule.from_toml(body[2])
                name = r.NAMES.get(record.type, str(record.type))
                self.changes.add(1, {**where, "record": name, "body": _json(body)})

    def _waits(
        self,
        where: dict[str, Any],
        stamp: int,
        first: int,
        plan: int,
        within_ms: int,
        keys: list[str | list[str]],
        ids: list[str | None] | None,
        payloads: list[Any] | None,
    ) -> None:
        rule, count = self._plans[plan], len(keys)
        same = {**where, "kind": rule.opens, "at": stamp, "rule": rule.name, "plan": plan, "within_ms": within_ms}
        self.events.add(
            count,
            same,
            key=[key if isinstance(key, str) else key[0] for key in keys],
            keys=[[key] if isinstance(key, str) else key for key in keys],
            id=ids,
            payload=None if payloads is None else [_json_or_null(payload) for payload in payloads],
            wait=range(first, first + count),
            place=range(count),
        )

    def _signals(
        self,
        where: dict[str, Any],
        stamp: int,
        kinds: str | list[str],
        keys: list[str],
        sources: list[str | int | None] | None,
        values: list[int | float | str | None] | None,
        ids: list[str | None] | None,
        ats: list[int | None] | None,
    ) -> None:
        self.events.add(
            len(keys),
            {**where, "at": stamp, "kind": kinds},
            key=keys,
            kind=None if isinstance(kinds, str) else kinds,
            at=None if ats is None else [stamp if at is None else at for at in ats],
            source=None if sources is None else list(map(_text, sources)),
            source_type=None if sources is None else list(map(_source_type, sources)),
            value=None if values is None else list(map(_text, values)),
            value_type=None if values is None else list(map(_value_type, values)),
            id=ids,
            place=range(len(keys)),
        )

    def _outcomes(self, where: dict[str, Any], stamp: int, first: int, rows: list[list[Any]]) -> None:
        if not rows:
            return
        waits, ids, rules, keys, opened, deadlines, endings, ats, kinds, missing, seen, payloads = zip(
            *rows, strict=True
        )
        self.told.add(
            len(rows),
            {**where, "told_at": stamp},
            operation_id=ids,
            rule=rules,
            key=keys,
            opened_at=opened,
            deadline=deadlines,
            outcome=endings,
            at=ats,
            waited_ms=[at - since for at, since in zip(ats, opened, strict=True)],
            met_at=[at if ending == "completed" else None for at, ending in zip(ats, endings, strict=True)],
            decided_by=kinds,
            missing=missing,
            number=range(first, first + len(rows)),
            wait=waits,
            payload=[_json_or_null(payload) for payload in payloads],
            seen=seen,
        )


def _json(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _json_or_null(body: Any) -> str | None:
    return None if body is None else _json(body)


def _text(value: Any) -> str | None:
    """As it would be written: a float as Python does, which reads it back as it was."""
    return None if value is None else str(value)


def _source_type(source: Any) -> str | None:
    return None if source is None else "text" if isinstance(source, str) else "int"


def _value_type(value: Any) -> str | None:
    if value is None:
        return None
    return "decimal" if isinstance(value, str) else "float" if isinstance(value, float) else "int"
