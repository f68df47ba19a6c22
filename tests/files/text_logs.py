"""CSV, JSON Lines and XES: well-formed lines in every form, and lines that are not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

from files.drafts import Draft, Values, dressed, is_closing
from files.meant import COLUMNS, MISSING, Meant
from files.parquet_logs import ODD_NAMES, Ways, word
from files.values import PER_SECOND, Way, _text_key, text_durations, text_numbers, text_times
from sojourn.rules import Event

FIELDS = "the line does not have as many fields as the header"
NOT_TEXT = "the line has bytes that are not text; name the encoding of the file (--option encoding=...)"
STRAY = (
    "a quote closes a field, but neither a separator nor the end of the line follows",
    "a quote opens a field, but does not close within 100 lines",
)
NOT_JSON = "the line is not a JSON object"
NOT_UTF_8 = "the line has bytes that are not UTF-8"
REPEATED = "the line names a field twice"
HALF = "the line has half a character: a surrogate without the other half"
DEEP = "the line is nested too deeply"

NOTES = (
    "plain",
    "",
    'with "quotes"',
    "two\nlines",
    "a\r\nb\n\nc",
    "semi;colon, comma\tand tab",
    "ü 日本 😀",
    "\\back\\",
)
NOWHERE = Event("", "", 0)


def text_ways(unit: str) -> Ways:
    return {
        "key": Way(_text_key, None),
        "kind": Way(word, None),
        "at": text_times(unit),
        "source": Way(word, None),
        "value": text_numbers(),
        "allowed": text_durations(),
        "due": text_times(unit),
    }


def shown(line: bytes) -> str:
    return line.decode(errors="backslashreplace")


def save(random: Random, folder: Path, name: str, data: bytes) -> None:
    if random.random() < 0.3:
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
    else:
        (folder / name).write_bytes(data)


def write_csv(random: Random, files: Sequence[Sequence[Draft]], folder: Path, unit: str) -> tuple[list[Meant], str]:
    sep, end = random.choice([",", ",", "\t"]), random.choice(["\n", "\r\n"])
    extra = random.choice(ODD_NAMES)
    meant: list[Meant] = []
    for place, drafts in enumerate(files):
        encoding = random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"])
        csv = _Csv(random, sep, end, encoding, unit, extra, is_last=place == len(files) - 1)
        data = csv.written(drafts)
        meant += csv.meant
        save(random, folder, f"{place}.{'tsv' if sep != ',' else 'csv'}", data)
    return meant, f"csv, {sep!r}, {end!r}, {extra!r}"


class _Csv:
    """One file. The last one has every column, so that the log has."""

    def __init__(
        self, random: Random, sep: str, end: str, encoding: str, unit: str, extra: str, *, is_last: bool
    ) -> None:
        self.random, self.sep, self.end, self.encoding = random, sep, end, encoding
        self.ways = text_ways(unit)
        self.names = ["n", *(COLUMNS.get(name, name) for name in self.ways), extra]
        random.shuffle(self.names)
        self.left_out = None if is_last else random.choice([None, "value", "allowed", "due", "source"])
        self.names = [name for name in self.names if name != COLUMNS.get(str(self.left_out), self.left_out)]
        self.extra = extra
        self.meant: list[Meant] = []

    def written(self, drafts: Sequence[Draft]) -> bytes:
        lines = [self._joined(self.names), *(line for draft in drafts for line in self._lines(draft))]
        data = self.end.join(lines) + self.end * (self.random.random() < 0.8)
        if self.encoding == "utf-8":
            return data.encode(errors="surrogateescape")
        return data.encode(self.encoding)

    def _lines(self, draft: Draft) -> list[str]:
        values, meant = dressed(self.random, draft, self.ways)
        if self.left_out:
            meant.dirt[self.left_out] = MISSING
            means = meant.event._asdict()
            means["columns"] = {name: value for name, value in means["columns"].items() if name != self.left_out}
            meant.event = Event(**{**means, **({self.left_out: None} if self.left_out in means else {})})
        fields = {COLUMNS.get(name, name): "" if value is None else str(value) for name, value in values.items()}
        fields |= {"n": str(draft.serial), self.extra: self.random.choice(NOTES)}
        line = self._joined([fields[name] for name in self.names])
        if draft.dirt and self.random.random() < 0.3:
            line = self._spoilt(line, fields, meant)
        self.meant.append(meant)
        return [line] if self.random.random() < 0.95 else ["", line]

    def _spoilt(self, line: str, fields: dict[str, str], meant: Meant) -> str:
        """The same line, such that it cannot be read."""
        forms = ["few", "many", "stray"] + ["bytes"] * (self.encoding == "utf-8")
        match self.random.choice(forms):
            case "few":
                line, meant.line = self._joined([fields[name] for name in self.names[:-1]]), (FIELDS,)
            case "many":
                line, meant.line = line + self.sep + "one more", (FIELDS,)
            case "stray":
                plain = [fields[name] if name != self.extra else '"12 inch' for name in self.names]
                line, meant.line = self.sep.join(plain), STRAY
            case "bytes":
                line, meant.line = line + "\udce9", (NOT_TEXT,)
                if line.endswith('"\udce9'):
                    line = line[:-2] + '\udce9"'
        meant.text = shown(line.encode(errors="surrogateescape"))
        return line

    def _joined(self, fields: Sequence[str]) -> str:
        return self.sep.join(map(self._field, fields))

    def _field(self, text: str) -> str:
        must = any(sign in text for sign in f"{self.sep}\r\n") or text.startswith('"')
        return '"' + text.replace('"', '""') + '"' if must or self.random.random() < 0.1 else text


def write_json(random: Random, files: Sequence[Sequence[Draft]], folder: Path, unit: str) -> tuple[list[Meant], str]:
    json_log = _Json(random, unit)
    for place, drafts in enumerate(files):
        end = random.choice([b"\n", b"\r\n"])
        lines = list(json_log.lines(drafts))
        bom = b"\xef\xbb\xbf" * (random.random() < 0.2)
        save(random, folder, f"{place}.jsonl", bom + end.join(lines) + end * (random.random() < 0.8))
    return json_log.settled(), f"json, {json_log.about}"


class _Json:
    """Columns are of one type over all files: what amounts mean is known at the end."""

    def __init__(self, random: Random, unit: str) -> None:
        self.random = random
        texts = text_ways(unit)
        numbers = random.choice([False, True])
        whole = Way(lambda random, key: (key, str(key)) if random.random() < 0.5 else _text_key(random, key), None)
        self.about = "numbers" if numbers else "texts"
        self.ways: Ways = {**texts, "key": random.choice([texts["key"], whole])}
        if numbers:
            self.ways["at"] = _json_times(unit)
            self.ways["value"] = Way(_json_number, None, ("abc", "12 EUR"), (-1, -0.25))
            self.ways["allowed"] = Way(lambda random, seconds: (seconds * 1000,) * 2, None, (1.5,), (-1,))
        self.extra = random.choice(ODD_NAMES)
        self.rows: list[tuple[Values, Meant]] = []
        self.bad: list[Meant] = []

    def lines(self, drafts: Sequence[Draft]) -> Any:
        waiting = ""
        for draft in drafts:
            values, meant = dressed(self.random, draft, self.ways)
            line = self._line(draft, values)
            if draft.dirt and self.random.random() < 0.3:
                spoilt, reason = self._spoilt(line)
                self.bad.append(Meant(draft.serial, NOWHERE, {}, (reason,), shown(spoilt)))
                yield spoilt
                continue
            self.rows.append((values, meant))
            if self.random.random() < 0.1 and not is_closing(draft):
                waiting += line + self.random.choice(["", " ", "\t"])
                continue
            yield (waiting + line).encode()
            waiting = ""
            if self.random.random() < 0.05:
                yield b""
        if waiting:
            yield waiting.encode()

    def _line(self, draft: Draft, values: Values) -> str:
        found = {COLUMNS.get(name, name): value for name, value in values.items()}
        if not is_closing(draft) and self.random.random() < 0.5:
            found = {name: value for name, value in found.items() if value is not None}
        notes: list[Any] = [*NOTES, None, 7, [1, "x"], {"a": {"b": 1}}]
        found |= {"n": draft.serial, self.extra: self.random.choice(notes)}
        names = list(found)
        self.random.shuffle(names)
        return json.dumps({name: found[name] for name in names}, ensure_ascii=self.random.random() < 0.5)

    def _spoilt(self, line: str) -> tuple[bytes, str]:
        whole = line.encode()
        return self.random.choice(
            [
                (whole[:-1], NOT_JSON),
                (whole + b" x", NOT_JSON),
                (whole + whole[:-1], NOT_JSON),
                (b"[" + whole + b"]", NOT_JSON),
                (b"null", NOT_JSON),
                (whole[:-1] + b', "kind": "x", "kind": "y"}', REPEATED),
                (whole[:-1] + b', "odd": "\\ud83d"}', HALF),
                (whole[:-1] + b', "odd": "\xe9"}', NOT_UTF_8),
                (whole[:-1] + b', "odd": ' + b"[" * 200 + b"]" * 200 + b"}", DEEP),
            ]
        )

    def settled(self) -> list[Meant]:
        """Numbers beside texts are texts, which are decimals."""
        if any(isinstance(values["value"], str) for values, _ in self.rows):
            for values, meant in self.rows:
                if isinstance(values["value"], int | float) and meant.event.value is not None:
                    meant.event = meant.event._replace(value=Decimal(json.dumps(values["value"])))
        return [meant for _, meant in self.rows] + self.bad


def _json_number(random: Random, cents: int) -> tuple[Any, Any]:
    number = random.choice([cents // 100, cents / 100])
    return number, number


def _json_times(unit: str) -> Way:
    units = list(PER_SECOND) if unit == "auto" else [unit]

    def write(random: Random, micros: int) -> tuple[int, int]:
        size = PER_SECOND[random.choice(units)]
        count = micros * size // 10**6
        return count, count * 10**6 // size

    return Way(write, None, (20_240_301,) if unit == "auto" else ("yesterday",))


def write_xes(random: Random, files: Sequence[Sequence[Draft]], folder: Path, unit: str) -> tuple[list[Meant], str]:
    meant: list[Meant] = []
    ways = text_ways(unit)
    for place, drafts in enumerate(files):
        traces = []
        for draft in drafts:
            values, row = dressed(random, draft, ways)
            meant.append(row)
            traces.append(_trace(random, draft, values))
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0">\n{"".join(traces)}</log>\n'
        save(random, folder, f"{place}.xes", text.encode())
    return meant, "xes"


_XES_NAMES = {"kind": "concept:name", "at": "time:timestamp", "source": "org:resource"}


def _trace(random: Random, draft: Draft, values: Values) -> str:
    key = "" if values["key"] is None else _attribute("string", "concept:name", values["key"])
    tags: dict[str, Callable[[], str]] = {"at": lambda: random.choice(["date", "string"])}
    inner = [
        _attribute(tags.get(name, lambda: "string")(), _XES_NAMES.get(name, COLUMNS.get(name, name)), value)
        for name, value in values.items()
        if name != "key" and value is not None
    ]
    note = _attribute("string", "note", random.choice(NOTES))
    return f"<trace>{key}<event>{_attribute('int', 'n', draft.serial)}{''.join(inner)}{note}</event></trace>\n"


def _attribute(tag: str, key: str, value: Any) -> str:
    return f"<{tag} key={quoteattr(key)} value={quoteattr(str(value))}/>"
