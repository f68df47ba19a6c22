"""Bugs for the road of a row: the normal form, dealing out, deciding, and what runs on Spark's executors."""

from __future__ import annotations

from .mutant import Mutant

DEAL = "src/sojourn/pipeline/deal.py"
DECIDE = "src/sojourn/pipeline/decide.py"
FILES = "src/sojourn/pipeline/files/parquet.py"
NORMAL = "src/sojourn/pipeline/columns/normal.py"
OPERATIONS = "src/sojourn/pipeline/columns/operations.py"
PARCELS = "src/sojourn/pipeline/spark/parcels.py"
WORKER = "src/sojourn/pipeline/spark/worker.py"
PACK = "src/sojourn/pipeline/stream/pack.py"

MUTANTS = [
    # Parcels
    Mutant("a text's hash knows its neighbour", DEAL, "np.clip(length, 1, _WORD)", "np.clip(length, _WORD, _WORD)"),
    Mutant("the length of a text is not hashed", DEAL, "    mixed ^= length.view(np.uint64)\n", ""),
    Mutant("only the end of a text is hashed", DEAL, "for place in range(1, min(", "for place in range(1, 0 * min("),
    Mutant(
        "a slice is hashed from its start",
        DEAL,
        "[texts.offset : texts.offset + len(texts) + 1]",
        "[: len(texts) + 1]",
    ),
    Mutant("large texts are taken for small", DEAL, "if pa.types.is_large_string(texts.type)", "if False"),
    Mutant("the last parcel of a shard is cut", PARCELS, "min(most, int(ends[place]) - start)", "most"),
    Mutant("the last parcels are not sent", PARCELS, "    if sent:\n        yield", "    if False:\n        yield"),
    Mutant("what was set aside is not counted", PARCELS, "[{SHARD: 0, UNUSABLE: unusable}] if unusable else []", "[]"),
    Mutant("rows after the last full batch are lost", PARCELS, "    if rows:\n", "    if False:\n"),
    Mutant("the last shards are lost", PARCELS, "(rows and not waiting)", "False"),
    Mutant(
        "a parcel of operations is read as events",
        PARCELS,
        "            arrived[1].append(",
        "            arrived[0].append(",
    ),
    # Dealing out, and handing over
    Mutant(
        "a share is read twice",
        FILES,
        "for path, groups in groupby(self.shares[task]",
        "for path, groups in groupby(self.shares[task] * 2",
    ),
    Mutant("the last share gets nothing", FILES, "by_task[min(tasks - 1, ", "by_task[min(max(0, tasks - 2), "),
    Mutant("events that no rule can use are sent", NORMAL, "np.flatnonzero(is_usable & ", "np.flatnonzero("),
    Mutant(
        "a number that is none is 0",
        NORMAL,
        "{number_column(i): log.number_column(name) for",
        "{number_column(i): log.number_column(name).fill_null(0) for",
    ),
    Mutant(
        "those given twice are sent",
        WORKER,
        "number = np.full(len(self.given.rule), -1)",
        "number = np.zeros(len(self.given.rule), np.int64)",
    ),
    Mutant(
        "ranks go on from shard to shard",
        WORKER,
        "np.arange(len(self.rows)) - self._starts[self.home]",
        "np.arange(len(self.rows))",
    ),
    Mutant("a key that is named twice counts twice", OPERATIONS, " & ~is_repeated(self)", ""),
    Mutant(
        "a key that is named twice at a distance counts twice",
        OPERATIONS,
        "for further in range(1, int(",
        "for further in range(1, 2 + 0 * int(",
    ),
    Mutant(
        "rules share their operations",
        DECIDE,
        "        chosen = np.flatnonzero(rule_index == index)\n        since",
        "        chosen = np.arange(len(rule_index))\n        since",
    ),
    Mutant("sources of two shards are mixed up", DECIDE, " | (origin << 32)", ""),
    Mutant(
        "events come to operations in any order",
        DECIDE,
        "order_by(owner, column_of(events, AT).to_numpy())",
        "np.argsort(owner)",
    ),
    Mutant(
        "the last of a name counts",
        OPERATIONS,
        "ordered = sorted((hashed[row], *_content(given, row), row) for",
        "ordered = sorted((hashed[row], *_content(given, row)[:1], -row, row) for",
    ),
    Mutant("names that share a hash are one", OPERATIONS, "[one[1] != before[1] for", "[one[0] != before[0] for"),
    # The normal form, and the payloads of streams
    Mutant(
        "keys that are sources are all one",
        NORMAL,
        "        source = key\n",
        "        source = None if key is None else key * 0\n",
    ),
    Mutant(
        "deadlines are those of other rows",
        NORMAL,
        "column_of(events, name).to_numpy()[order] for within",
        "column_of(events, name).to_numpy() for within",
    ),
    Mutant("a shard too far", DEAL, "* np.uint64(shards)) >>", "* np.uint64(shards + 1)) >>"),
    Mutant(
        "rows of a shard are those of another",
        DEAL,
        "[rows[positions] for positions in by_shard(shard[rows], shards)]",
        "by_shard(shard[rows], shards)",
    ),
    Mutant(
        "what was handed to one is judged for another",
        DECIDE,
        "columns = {OPERATION: number[chosen[operation]]}",
        "columns = {OPERATION: number[operation]}",
    ),
    Mutant(
        "a late row is that of another event",
        PACK,
        "in_one_piece(table.take(pa.array(rows[order])))",
        "in_one_piece(table.take(pa.array(rows)))",
    ),
    Mutant(
        "a row that is no event does not move the watermark",
        PACK,
        "for payload in payloads or [{}]]",
        "for payload in payloads]",
    ),
]
