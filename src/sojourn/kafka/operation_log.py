"""The operation log: what every delayed request was, what touched it and how it ended, as events for the pipeline.

An operation has a key of its own, such as `produce-17`, and these events::

    its opening   kind of the request ("produce", "fetch" ...); `value` is how long it may wait, in ms
    its signals   "settled": a part of it (`source`: a partition, a member) is done; `value` is that part's share of the
                  whole, in millionths. "available": `value` bytes more than wanted, so below 0 it has to wait on.
                  "interrupted": it need not wait any longer. "heartbeat": its deadline moves. "touched": looked at,
                  but nothing new; `value` parts are missing.
    its end       "completed", "expired" or "cancelled"; `value` is how long it has waited, in ms

The columns are the pipeline's: `key, kind, at, source, value`, with `at` in milliseconds since the epoch.
`sojourn.kafka.RULES` says the same as rules, so that the log alone gives the outcomes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, Self

from ..errors import ConfigError, SojournError
from ..rules import Event

COLUMNS = ("key", "kind", "at", "source", "value")
WHOLE = 1_000_000
"""The shares of all parts of an operation add up to this."""
ROWS = 100_000
"""Of a row group in a Parquet file."""


class OperationLog(Protocol):
    """Where events go, in the order in which they happen."""

    def write(self, event: Event) -> None: ...

    def close(self) -> None: ...


class MemoryLog:
    """Keeps the events in a list."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def write(self, event: Event) -> None:
        self.events.append(readable(event))

    def close(self) -> None:
        """Nothing to do: the events stay."""


class JsonLinesLog:
    """One JSON object per line."""

    def __init__(self, path: str | Path) -> None:
        self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115  (close() does)

    def write(self, event: Event) -> None:
        self._file.write(json.dumps(dict(zip(COLUMNS, event, strict=False)), separators=(",", ":")) + "\n")

    def close(self) -> None:
        self._file.close()


class ParquetLog:
    """A Parquet file, written a hundred thousand rows at a time."""

    def __init__(self, path: str | Path) -> None:
        self._arrow, self._parquet = _pyarrow()
        texts, numbers = self._arrow.string(), self._arrow.int64()
        types = dict(zip(COLUMNS, (texts, texts, numbers, texts, numbers), strict=True))
        self._schema = self._arrow.schema(types.items())
        self._writer = self._parquet.ParquetWriter(str(path), self._schema)
        self._rows: list[Event] = []

    def write(self, event: Event) -> None:
        self._rows.append(event)
        if len(self._rows) >= ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        columns = [[row[i] for row in self._rows] for i in range(len(COLUMNS))]
        self._writer.write_table(self._arrow.table(dict(zip(COLUMNS, columns, strict=True)), schema=self._schema))
        self._rows.clear()


class Tee:
    """Writes to several logs at once."""

    def __init__(self, *logs: OperationLog) -> None:
        self._logs = logs

    def write(self, event: Event) -> None:
        for log in self._logs:
            log.write(event)

    def close(self) -> None:
        for log in self._logs:
            log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def open_log(path: str | Path) -> OperationLog:
    """A log to a file, in the format that its name ends in: .jsonl or .parquet."""
    return _by_suffix(path, {".jsonl": JsonLinesLog, ".parquet": ParquetLog})(path)  # type: ignore[no-any-return]


def read_log(path: str | Path) -> Iterator[Event]:
    """The events of a file that one of these logs wrote."""
    rows: Iterable[dict[str, Any]] = _by_suffix(path, {".jsonl": _json_rows, ".parquet": _parquet_rows})(path)
    return (readable(Event(**row)) for row in rows)


def readable(event: Event) -> Event:
    """With `value` among the further columns too: there a rule looks for an opening's deadline."""
    return event._replace(columns={"value": event.value})


def _by_suffix(path: str | Path, known: dict[str, Any]) -> Any:
    suffix = Path(path).suffix
    if suffix not in known:
        raise ConfigError(f"{str(path)!r} does not say its format; let it end in {' or '.join(known)}")
    return known[suffix]


def _json_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    with Path(path).open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _parquet_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    with _pyarrow()[1].ParquetFile(str(path)) as file:
        for batch in file.iter_batches():
            yield from batch.to_pylist()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415  (an extra)
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise SojournError("Parquet needs pyarrow: pip install 'sojourn[pipeline]', or write .jsonl") from None
    return pyarrow, pyarrow.parquet
