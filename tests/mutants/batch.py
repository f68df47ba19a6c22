"""Bugs for what runs on Spark's executors in a replay: parcels, dealing out, handing over, reading files."""

from __future__ import annotations

from .mutant import Mutant

FILES = "src/sojourn/pipeline/files/parquet.py"
OPERATIONS = "src/sojourn/pipeline/columns/operations.py"
PARCELS = "src/sojourn/pipeline/spark/parcels.py"
WORKER = "src/sojourn/pipeline/spark/worker.py"

MUTANTS = [
    # Parcels
    Mutant("a text's hash knows its neighbour", PARCELS, "np.clip(length, 1, _WORD)", "np.clip(length, _WORD, _WORD)"),
    Mutant("the length of a text is not hashed", PARCELS, "    mixed ^= length.view(np.uint64)\n", ""),
    Mutant("only the end of a text is hashed", PARCELS, "for place in range(1, min(", "for place in range(1, 0 * min("),
    Mutant(
        "a slice is hashed from its start",
        PARCELS,
        "[texts.offset : texts.offset + len(texts) + 1]",
        "[: len(texts) + 1]",
    ),
    Mutant("large texts are taken for small", PARCELS, "if pa.types.is_large_string(texts.type)", "if False"),
    Mutant("the last parcel of a shard is cut", PARCELS, "min(most, int(ends[place]) - start)", "most"),
    Mutant("the last parcels are not sent", PARCELS, "    if sent:\n        yield", "    if False:\n        yield"),
    Mutant("what was set aside is not counted", PARCELS, "[{SHARD: 0, ODD: odd}] if odd else []", "[]"),
    Mutant("rows after the last full batch are lost", PARCELS, "    if rows:\n", "    if False:\n"),
    Mutant("the last shards are lost", PARCELS, "(rows and not waiting)", "False"),
    Mutant(
        "a parcel of operations is read as events",
        PARCELS,
        "            found[1].append(",
        "            found[0].append(",
    ),
    # Dealing out, and handing over
    Mutant(
        "a share is read twice",
        FILES,
        "for path, groups in groupby(self.shares[task]",
        "for path, groups in groupby(self.shares[task] * 2",
    ),
    Mutant("the last share gets nothing", FILES, "own[min(tasks - 1, ", "own[min(max(0, tasks - 2), "),
    Mutant("events that no rule can use are sent", WORKER, "np.flatnonzero(is_usable & ", "np.flatnonzero("),
    Mutant(
        "a number that is none is 0",
        WORKER,
        "= log.number_column(name)",
        "= log.number_column(name).fill_null(0)",
    ),
    Mutant("those given twice are sent", WORKER, "sent if len(rows) == len(own.rule) else", "sent if len(rows) else"),
    Mutant(
        "ranks go on from shard to shard",
        WORKER,
        "np.arange(len(self.rows)) - self._starts[self.home]",
        "np.arange(len(self.rows))",
    ),
    Mutant("a key that is named twice counts twice", WORKER, " & ~is_repeated(own)", ""),
    Mutant(
        "a key that is named twice at a distance counts twice",
        OPERATIONS,
        "for further in range(1, int(",
        "for further in range(1, 2 + 0 * int(",
    ),
    Mutant(
        "rules share their operations",
        WORKER,
        "            own = np.flatnonzero(rule == place)\n",
        "            own = np.arange(len(rule))\n",
    ),
    Mutant("sources of two shards are mixed up", WORKER, " | (parcels.shards[0] << 32)", ""),
    Mutant(
        "events come to operations in any order", WORKER, "order_by(group, table[AT].to_numpy())", "np.argsort(group)"
    ),
    Mutant(
        "the last of a name counts",
        OPERATIONS,
        "ordered = sorted((hashed[row], *_content(found, row), row) for",
        "ordered = sorted((hashed[row], *_content(found, row)[:1], -row, row) for",
    ),
    Mutant("names that share a hash are one", OPERATIONS, "[one[1] != before[1] for", "[one[0] != before[0] for"),
]
