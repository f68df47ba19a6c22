"""Each case by hand, in SQL: what somebody who knows the engine would write. One text, two dialects.

Each gives id, opened_at, deadline, outcome, ended_at and met_at, times in milliseconds. They know what the rules do
not: that every key opens once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .conditions import ALIVE_MS
from .data import KEYS_EACH, WITHIN_MS


class Dialect(NamedTuple):
    ms: str
    """Epoch milliseconds of a timestamp."""
    nth_least: Callable[[str, int], str]
    """An aggregate: the n-th of the values in ascending order; null if there are fewer."""
    each: str
    """A row for each different element of a list."""


DUCKDB = Dialect("epoch_ms", lambda value, n: f"min({value}, {n})[{n}]", "unnest(list_distinct({}))")
SPARK = Dialect(
    "unix_millis", lambda value, n: f"get(array_sort(collect_list({value})), {n - 1})", "explode(array_distinct({}))"
)

_END = f"""
SELECT id, s AS opened_at, s + {WITHIN_MS} AS deadline,
       CASE WHEN met <= s + {WITHIN_MS} THEN 'completed' ELSE 'expired' END AS outcome,
       CASE WHEN met <= s + {WITHIN_MS} THEN met ELSE s + {WITHIN_MS} END AS ended_at,
       met AS met_at
FROM ended
"""


def query(case: str, dialect: Dialect) -> str:
    """The SQL of a case, over the tables `log` and `operations`."""
    return _QUERIES[case](dialect)


def _tables(dialect: Dialect) -> str:
    return f"""
    WITH ops AS (SELECT key AS id, {dialect.ms}(stamp) AS s FROM log WHERE kind = 'open'),
    signals AS (SELECT key, source, value, {dialect.ms}(stamp) AS t FROM log WHERE kind = 'signal'),
    """


def _seen(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    ended AS (SELECT id, s, min(t) AS met FROM ops LEFT JOIN signals ON key = id AND t >= s GROUP BY id, s)
    {_END}"""


def _count(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    ended AS (SELECT id, s, {dialect.nth_least("t", 2)} AS met
              FROM ops LEFT JOIN signals ON key = id AND t >= s GROUP BY id, s)
    {_END}"""


def _distinct(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    firsts AS (SELECT id, s, source, min(t) AS t
               FROM ops LEFT JOIN signals ON key = id AND t >= s GROUP BY id, s, source),
    ended AS (SELECT id, s, {dialect.nth_least("t", 2)} AS met FROM firsts GROUP BY id, s)
    {_END}"""


def _sum(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    totals AS (SELECT id, s, t, sum(value) OVER (PARTITION BY id ORDER BY t RANGE UNBOUNDED PRECEDING) AS total
               FROM ops LEFT JOIN signals ON key = id AND t >= s),
    ended AS (SELECT id, s, min(t) FILTER (WHERE total >= 100) AS met FROM totals GROUP BY id, s)
    {_END}"""


def _reached(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    firsts AS (SELECT key, source, min(t) AS t FROM signals WHERE value >= 60 GROUP BY key, source),
    levels AS (SELECT key, {dialect.nth_least("t", 2)} AS t FROM firsts GROUP BY key),
    ended AS (SELECT id, s, CASE WHEN t IS NOT NULL THEN greatest(s, t) END AS met
              FROM ops LEFT JOIN levels ON key = id)
    {_END}"""


def _parts(dialect: Dialect) -> str:
    """`greatest` and `least` ignore nulls in both dialects."""
    first = "min(t) FILTER (WHERE kind = '{}') AS {}"
    firsts = ", ".join(first.format(kind, kind) for kind in ("paid", "packed", "waived", "stopped"))
    in_time = "met <= d AND (stopped IS NULL OR met <= stopped)"
    return f"""
    WITH ops AS (SELECT key AS id, {dialect.ms}(stamp) AS s FROM log WHERE kind = 'open'),
    signals AS (SELECT key, kind, {dialect.ms}(stamp) AS t FROM log WHERE kind <> 'open'),
    firsts AS (SELECT id, s, {firsts} FROM ops LEFT JOIN signals ON key = id AND t >= s GROUP BY id, s),
    met AS (SELECT id, s, s + {WITHIN_MS} AS d, stopped,
                   CASE WHEN paid IS NOT NULL AND least(packed, waived) IS NOT NULL
                        THEN greatest(paid, least(packed, waived)) END AS met FROM firsts)
    SELECT id, s AS opened_at, d AS deadline,
           CASE WHEN {in_time} THEN 'completed' WHEN stopped <= d THEN 'cancelled' ELSE 'expired' END AS outcome,
           CASE WHEN {in_time} THEN met WHEN stopped <= d THEN stopped ELSE d END AS ended_at,
           met AS met_at
    FROM met"""


def _heartbeat(dialect: Dialect) -> str:
    return f"""{_tables(dialect)}
    beats AS (SELECT id, s, s AS t FROM ops
              UNION ALL SELECT id, s, t FROM ops JOIN signals ON key = id AND t >= s),
    gaps AS (SELECT id, s, t, lead(t) OVER (PARTITION BY id ORDER BY t) - t AS gap FROM beats),
    ended AS (SELECT id, s, min(t) FILTER (WHERE gap IS NULL OR gap > {ALIVE_MS}) + {ALIVE_MS} AS d
              FROM gaps GROUP BY id, s)
    SELECT id, s AS opened_at, d AS deadline, 'expired' AS outcome, d AS ended_at, CAST(NULL AS BIGINT) AS met_at
    FROM ended
    """


def _many_keys(dialect: Dialect) -> str:
    return f"""
    WITH ops AS (SELECT operation_id AS id, {dialect.ms}(opened_at) AS s, keys FROM operations),
    pairs AS (SELECT id, s, {dialect.each.format("keys")} AS key FROM ops),
    signals AS (SELECT key, {dialect.ms}(stamp) AS t FROM log WHERE kind = 'ready'),
    firsts AS (SELECT id, s, pairs.key, min(t) AS t
               FROM pairs LEFT JOIN signals ON pairs.key = signals.key AND t >= s GROUP BY id, s, pairs.key),
    ended AS (SELECT id, s, {dialect.nth_least("t", KEYS_EACH)} AS met FROM firsts GROUP BY id, s)
    {_END}"""


_QUERIES: dict[str, Callable[[Dialect], str]] = {
    "seen": _seen,
    "count": _count,
    "distinct": _distinct,
    "sum": _sum,
    "reached": _reached,
    "parts": _parts,
    "heartbeat": _heartbeat,
    "many_keys": _many_keys,
}
