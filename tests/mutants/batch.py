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
TEXTS = "src/sojourn/pipeline/columns/texts.py"
CORE = "src/sojourn/pipeline/_core.pyx"
PASSES = "src/sojourn/pipeline/kernel/passes.py"
SEARCH = "src/sojourn/pipeline/kernel/search.py"
PACK = "src/sojourn/pipeline/stream/shard/pack.py"

MUTANTS = [
    # Parcels
    Mutant("a text's hash knows its neighbour", TEXTS, "np.clip(length, 1, _WORD)", "np.clip(length, _WORD, _WORD)"),
    Mutant("the length of a text is not hashed", TEXTS, "    mixed ^= length.view(np.uint64)\n", ""),
    Mutant("only the end of a text is hashed", TEXTS, "for place in range(1, min(", "for place in range(1, 0 * min("),
    Mutant(
        "a slice is hashed from its start",
        TEXTS,
        "[texts.offset : texts.offset + len(texts) + 1]",
        "[: len(texts) + 1]",
    ),
    Mutant("large texts are taken for small", TEXTS, "if pa.types.is_large_string(texts.type)", "if False"),
    Mutant("the last parcel of a shard is cut", PARCELS, "min(most, int(ends[place]) - start)", "most"),
    Mutant("the last parcels are not sent", PARCELS, "    if sent:\n        yield", "    if False:\n        yield"),
    Mutant("what was set aside is not counted", PARCELS, "[{SHARD: 0, UNUSABLE: unusable}] if unusable else []", "[]"),
    Mutant("rows after the last full batch are lost", PARCELS, "    if rows:\n", "    if False:\n"),
    Mutant("the last shards are lost", PARCELS, "(rows and not self._waiting)", "False"),
    Mutant(
        "a parcel of operations is read as events",
        PARCELS,
        "self._waiting[shard][1].append(",
        "self._waiting[shard][0].append(",
    ),
    # Dealing out, and handing over
    Mutant(
        "a share is read twice",
        FILES,
        "for path, groups in groupby(self.shares[task]",
        "for path, groups in groupby(self.shares[task] * 2",
    ),
    Mutant("the last share gets nothing", FILES, "by_task[min(tasks - 1, ", "by_task[min(max(0, tasks - 2), "),
    Mutant("events that no rule can use are sent", NORMAL, "is_looked_at = is_usable & ", "is_looked_at = "),
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
        "        source = groups(starts, len(order))\n",
        "        source = np.zeros(len(order), np.int64)\n",
    ),
    Mutant(
        "deadlines are those of other rows",
        NORMAL,
        "column_of(taken, name).to_numpy() for within",
        "column_of(events, name).to_numpy()[: len(order)] for within",
    ),
    Mutant("a shard too far", DEAL, "* np.uint64(shards)) >>", "* np.uint64(shards + 1)) >>"),
    Mutant(
        "rows of a shard are those of another",
        DEAL,
        "[rows[positions].astype(np.int32) for positions in by_shard(shard[rows], shards)]",
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
    # Passes over columns, in NumPy and compiled
    Mutant("a fall is seen between groups", SEARCH, "    has_fallen[starts[1:] - 1] = False\n", ""),
    Mutant("nobody looks for a fall", SEARCH, "if ascends(at, order, starts) else", "if True else"),
    Mutant("rows forget their sequence", SEARCH, "order = order if sequence is None else sequence[order]", "pass"),
    Mutant("an instant goes on in the next group", PASSES, "    is_new[starts[:-1][np.diff(starts) > 0]] = True\n", ""),
    Mutant("sources are the same across groups", PASSES, "(group[order[1:]] == group[order[:-1]]) & ", ""),
    Mutant(
        "a condition is met before it is opened",
        PASSES,
        "np.maximum(at[last[has_enough]], opened_at[has_enough])",
        "at[last[has_enough]]",
    ),
    Mutant("every ordinal is told", TEXTS, "is_later = ordinals > 1", "is_later = ordinals > 0"),
    Mutant("a compiled hash forgets the length", CORE, "(mixed ^ <uint64_t> length) * GOLDEN", "mixed * GOLDEN"),
    Mutant(
        "a compiled hash is of the first words",
        CORE,
        "if length <= most_words * 8 else length * place // most_words",
        "",
    ),
    Mutant("short texts overlap wrongly", CORE, "<uint64_t> last << ((length - 4) * 8)", "<uint64_t> last << 32"),
    Mutant("texts of one tag are one", CORE, " and is_same(names.data + start, text, length)", ""),
    Mutant("the end of a text is not compared", CORE, "    return first == second\n", "    return True\n"),
    Mutant(
        "names start at the names before",
        CORE,
        "names.starts[names.count] = names.used",
        "names.starts[names.count] = names.used - length",
    ),
    Mutant(
        "slots are lost when they are doubled",
        CORE,
        "            slots[place] = names.slots[old]\n",
        "            slots[place].next_code = 0\n",
    ),
    Mutant("compiled rows forget their sequence", CORE, "place = i if is_in_turn else sequence[i]", "place = i"),
    Mutant(
        "a fall is not seen",
        CORE,
        "values[order[place]] < values[order[place - 1]]",
        "values[order[place]] < values[order[starts[group]]]",
    ),
    Mutant(
        "a compiled instant goes on in the next group",
        CORE,
        "            first = starts[group]\n            for",
        "            first = starts[group] if group == 0 else first\n            for",
    ),
    Mutant(
        "the last that is marked is not before the end",
        CORE,
        "        out_before[count] = found\n",
        "        out_before[count] = out_before[count - 1] if count else 0\n",
    ),
    Mutant(
        "what is left of a lane is not before the end",
        CORE,
        "        while row <= count:\n",
        "        while row < count:\n",
    ),
    Mutant(
        "compiled conditions are met before they are opened",
        CORE,
        "out[i] = at[last] if at[last] > opened_at[i] else opened_at[i]",
        "out[i] = at[last]",
    ),
    Mutant(
        "a compiled search stops before the instant",
        CORE,
        "if times[first + half] <= until[i]:",
        "if times[first + half] < until[i]:",
    ),
    Mutant(
        "compiled sources are the same across groups",
        CORE,
        "if last[sources[place]] >= before[starts[group]] else -1",
        "",
    ),
    Mutant("a negative time loses its sign", CORE, '        end -= 1\n        end[0] = c"-"\n', "        end -= 1\n"),
    Mutant("an ordinal of ten has one digit", CORE, "end += 1 + digits_of(ordinals[row])", "end += 2"),
    Mutant(
        "a text that is taken is that before it",
        CORE,
        "            row = rows[i]\n            if",
        "            row = rows[max(0, i - 1)]\n            if",
    ),
    Mutant("a compiled tie is cancelled", CORE, "met_at[i] <= cancelled_at[i]:", "met_at[i] < cancelled_at[i]:"),
    Mutant("below 0 an interval is that above", CORE, "// width[part]) ^ sign", "// width[part])"),
]
