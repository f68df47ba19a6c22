"""The result file: rows, with the machine and the commit they were measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .machine import commit, machine

Row = dict[str, Any]
"""`workload`, `peer`, `n`, `op`, then `ns` and `bytes` (either may be None) and whatever else the operation reports."""


def _facts() -> dict[str, Any]:
    """Where this run is made; `versions` of the peers, and the `absent` ones with the reason, are filled in by it."""
    return {"machine": machine(), "commit": commit(), "versions": {}, "absent": {}}


class Results:
    """Rows of one run, merged over its rounds: every figure keeps its least value."""

    def __init__(self, rows: Iterable[Row] = (), facts: dict[str, Any] | None = None) -> None:
        self.facts = facts or _facts()
        self._rows: dict[tuple[str, str, int, str], Row] = {}
        for row in rows:
            self.merge(row)

    @property
    def rows(self) -> list[Row]:
        """The rows, in the order they were first seen."""
        return list(self._rows.values())

    def merge(self, row: Row) -> None:
        """Take in one round's row."""
        key = (row["workload"], row["peer"], row["n"], row["op"])
        kept = self._rows.setdefault(key, dict(row))
        for field, value in row.items():
            if isinstance(value, int | float) and field != "n":
                known = kept.get(field)
                kept[field] = value if known is None else min(known, value)

    def get(self, peer: str, n: int, op: str, field: str = "ns", workload: str = "timer") -> float | None:
        """One figure, or None where it was not measured."""
        value = self._rows.get((workload, peer, n, op), {}).get(field)
        return None if value is None else float(value)

    def sizes(self, peer: str, workload: str = "timer") -> list[int]:
        """The sizes at which `peer` was measured, ascending."""
        return sorted({n for kind, name, n, _ in self._rows if (kind, name) == (workload, peer)})

    def workloads(self) -> set[str]:
        """The workloads that have a row."""
        return {row["workload"] for row in self.rows}

    def peers(self) -> list[str]:
        """Peers in the order they were first seen."""
        return list(dict.fromkeys(row["peer"] for row in self.rows))

    def save(self, path: Path) -> None:
        """Write the file; one row a line, so that two files can be compared by eye."""
        head = json.dumps(self.facts, indent=2)[:-2]
        rows = ",\n".join("    " + json.dumps(row) for row in self.rows)
        path.write_text(f'{head},\n  "results": [\n{rows}\n  ]\n}}\n')

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read a file that `save` wrote."""
        facts = json.loads(path.read_text())
        return cls(facts.pop("results"), facts)
