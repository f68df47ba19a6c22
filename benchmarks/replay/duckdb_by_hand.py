"""The rule in DuckDB, by hand: `python -m benchmarks.replay.duckdb_by_hand LOG OUT SUMMARY [MEMORY]`.

What somebody who knows the engine would write for this one question, and who knows that every key opens once.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

OUTCOMES = """
WITH orders AS (SELECT key, "at" AS s FROM log WHERE kind = 'placed'),
signals AS (SELECT key, kind, "at" AS t FROM log WHERE kind IN ('paid', 'packed')),
firsts AS (SELECT orders.key, s, s + INTERVAL 30 MINUTE AS d,
                  min(t) FILTER (WHERE kind = 'paid') AS paid, min(t) FILTER (WHERE kind = 'packed') AS packed
           FROM orders LEFT JOIN signals ON signals.key = orders.key AND t >= s GROUP BY orders.key, s),
met AS (SELECT *, CASE WHEN paid IS NOT NULL AND packed IS NOT NULL THEN greatest(paid, packed) END AS met,
               (SELECT max("at") FROM log) AS log_end FROM firsts),
decided AS (SELECT *, CASE WHEN met <= d THEN 'completed' WHEN d <= log_end THEN 'expired' ELSE 'pending' END
                      AS outcome,
                   CASE WHEN met <= d THEN met WHEN d <= log_end THEN d END AS ended FROM met)
SELECT 'fulfilled/' || key || '/' || epoch_ms(s) AS operation_id, 'fulfilled' AS rule, key, s AS opened_at,
       d AS deadline, outcome, ended AS "at", epoch_ms(coalesce(ended, log_end)) - epoch_ms(s) AS waited_ms,
       met AS met_at,
       CASE WHEN outcome = 'expired' THEN 'deadline'
            WHEN outcome = 'completed' THEN CASE WHEN paid = met THEN 'paid' ELSE 'packed' END END AS decided_by,
       CASE WHEN outcome = 'completed' THEN NULL WHEN paid <= d THEN 'packed' WHEN packed <= d THEN 'paid'
            ELSE 'paid and packed' END AS missing
FROM decided
"""

COUNTS = """
SELECT count(*) AS opened, count(*) FILTER (WHERE outcome = 'completed') AS completed,
       count(*) FILTER (WHERE outcome = 'expired') AS expired, count(*) FILTER (WHERE outcome = 'pending') AS pending,
       count(met_at) FILTER (WHERE outcome = 'expired') AS met_late
"""


def main(log: str, out: str, summary: str, memory: str | None = None) -> None:
    """Spills beside its output where it may not have the memory."""
    Path(out).mkdir()
    file = f"{out}/outcomes.parquet"
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
        connection.execute(f"SET temp_directory = '{out}.spilled'")
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory}'")
        connection.execute(f"CREATE VIEW log AS SELECT * FROM '{log}'")
        connection.execute(f"COPY ({OUTCOMES}) TO '{file}' (FORMAT parquet)")
        counted = connection.execute(f"{COUNTS} FROM '{file}'")
        names = [column[0] for column in counted.description]
        Path(summary).write_text(json.dumps(dict(zip(names, counted.fetchone() or (), strict=True))))


if __name__ == "__main__":
    main(*sys.argv[1:])
