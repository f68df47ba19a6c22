"""Small logs to replay, and outcome tables made by the scalar law."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from sojourn import Event, Outcome, Rule
from sojourn.pipeline import schema as S  # noqa: N812
from sojourn.rules import outcomes

DAY = 86_400_000
PAID = Rule("paid", opens="ordered", until="paid", within="60 days", per="first")

ORDERS = [
    # key, kind, day, group: one in time, one at the deadline, one late, one never, one cancelled where a rule cancels
    ("a", "ordered", 0, "north"),
    ("a", "paid", 10, "north"),
    ("b", "ordered", 1, "north"),
    ("b", "paid", 61, "north"),
    ("c", "ordered", 2, "south"),
    ("c", "paid", 100, "south"),
    ("d", "ordered", 3, "south"),
    ("e", "ordered", 4, None),
    ("e", "withdrawn", 5, None),
]


def outcome_table(found: Iterable[Outcome]) -> pa.Table:
    """Outcomes of the scalar law as the engines give them."""
    rows = [outcome._asdict() for outcome in found]
    plain = pa.schema([field.with_type(pa.int64()) if field.type == S.TIME else field for field in S.OUTCOMES])
    return pa.Table.from_pylist(rows, plain).cast(S.OUTCOMES)


def orders(rule: Rule = PAID) -> pa.Table:
    """The outcomes of ORDERS."""
    return outcome_table(outcomes(rule, [Event(key, kind, day * DAY) for key, kind, day, _ in ORDERS]))


def order_events() -> pa.Table:
    """ORDERS as an event log."""
    keys, kinds, days, regions = zip(*ORDERS, strict=True)
    at = pa.array([day * DAY for day in days]).cast(pa.timestamp("ms", tz="UTC"))
    return pa.table({"order": keys, "event": kinds, "at": at, "region": regions})


def write_orders(folder: Path) -> Path:
    path = folder / "orders.parquet"
    parquet.write_table(order_events(), path)
    return path


def write_rule(folder: Path, text: str = "", file: str = "paid.toml", **settings: str) -> Path:
    """A rule file for ORDERS, or one with this text."""
    path = folder / file
    chosen = {"name": "paid", "opens": "ordered", "until": "paid", "within": "60 days", **settings}
    lines = "".join(f'{key} = "{value}"\n' for key, value in chosen.items() if value)
    path.write_text(text or f'[rule]\n{lines}\n[columns]\nkey = "order"\nkind = "event"\n')
    return path
