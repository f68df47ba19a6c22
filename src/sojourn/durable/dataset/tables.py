"""The records of a segment as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from ...rules import Rule
from .. import records as r
from ..wait import told_of
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
    return Tables(_table(EVENTS, rows.events), _table(TOLD, rows.told), _table(CHANGES, rows.changes))


class _Rows:
    def __init__(self, segment: int, plans: Plans) -> None:
        self._segment, self._plans = segment, plans
        self.events: list[tuple[Any, ...]] = []
        self.told: list[tuple[Any, ...]] = []
        self.changes: list[tuple[Any, ...]] = []

    def add(self, record: r.Record) -> None:
        body = r.read_body(record.body)
        match record.type:
            case r.WAIT:
                self._waits(record.offset, *body)
            case r.SIGNAL:
                self._signals(record.offset, *body)
            case r.TOLD:
                self._outcomes(record.offset, *body)
            case _:
                if record.type == r.RULE:
                    self._plans[body[1]] = Rule.from_toml(body[2])
                name = r.NAMES.get(record.type, str(record.type))
                self.changes.append((body[0], name, _json(body), self._segment, record.offset))

    def _waits(
        self, offset: int, stamp: int, first: int, plan: int, within_ms: int, keys: Any, ids: Any, payloads: Any
    ) -> None:
        rule = self._plans[plan]
        about = rule.name, plan, within_ms, None, None, stamp, self._segment, offset
        for i, key in enumerate(keys):
            of_one = [key] if isinstance(key, str) else key
            payload = None if payloads is None or payloads[i] is None else _json(payloads[i])
            given = None if ids is None else ids[i]
            named = of_one[0], rule.opens, stamp, None, None, given, payload, first + i, of_one
            self.events.append((*named, *about, i))

    def _signals(
        self, offset: int, stamp: int, kinds: Any, keys: Any, sources: Any, values: Any, ids: Any, ats: Any
    ) -> None:
        for i, key in enumerate(keys):
            kind = kinds if isinstance(kinds, str) else kinds[i]
            at = None if ats is None else ats[i]
            source = None if sources is None else sources[i]
            value = None if values is None else values[i]
            said = key, kind, stamp if at is None else at, _text(source), _text(value), None if ids is None else ids[i]
            types = _source_type(source), _value_type(value)
            self.events.append((*said, *[None] * 6, *types, stamp, self._segment, offset, i))

    def _outcomes(self, offset: int, stamp: int, first: int, rows: list[list[Any]]) -> None:
        for i, row in enumerate(rows):
            *columns, seen, number, payload = told_of(first + i, row)
            text = None if payload is None else _json(payload)
            self.told.append((*columns, number, row[0], text, seen, stamp, self._segment, offset))


def _table(schema: pa.Schema, rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def _json(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str | None:
    """As it would be written: a float as Python does, which reads it back as it was."""
    return None if value is None else str(value)


def _source_type(source: Any) -> str | None:
    return None if source is None else "text" if isinstance(source, str) else "int"


def _value_type(value: Any) -> str | None:
    if value is None:
        return None
    return "decimal" if isinstance(value, str) else "float" if isinstance(value, float) else "int"
