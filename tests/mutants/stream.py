"""Bugs for the rules of a stream: what each takes and keeps, how they come and go, and what is forgotten."""

from __future__ import annotations

from .mutant import Mutant

CHANGES = "src/sojourn/pipeline/stream/checkpoint/changes.py"
COMPACT = "src/sojourn/pipeline/stream/shard/compact.py"
DECIDE = "src/sojourn/pipeline/stream/shard/decide.py"
GROUPS = "src/sojourn/pipeline/stream/shard/groups.py"
KEEP = "src/sojourn/pipeline/stream/shard/keep.py"
NEARBY = "src/sojourn/pipeline/stream/shard/nearby.py"
PACK = "src/sojourn/pipeline/stream/shard/pack.py"
REMOVE = "src/sojourn/pipeline/stream/shard/remove.py"
RULESET = "src/sojourn/pipeline/stream/shard/ruleset.py"
SEGMENT = "src/sojourn/pipeline/stream/shard/segment.py"
SHAPE = "src/sojourn/pipeline/stream/shard/shape.py"
SHARD = "src/sojourn/pipeline/stream/shard/shard.py"
STATE = "src/sojourn/pipeline/stream/shard/state.py"
STORED = "src/sojourn/pipeline/stream/shard/stored.py"

MUTANTS = [
    # Several rules
    Mutant("rules share their segments", SEGMENT, "{shape.id} {shape.kept}", "{shape.kept}"),
    Mutant("a rule takes what it cannot add up", RULESET, " | is_readable(leaf, kernel_numbers(column))", " | True"),
    Mutant("a rule takes openings without a deadline", RULESET, "        if plan.withins:\n", "        if False:\n"),
    Mutant(
        "rules read each other's numbers",
        RULESET,
        "number_column(whole.numbers.index(name)) for",
        "number_column(i) for",
    ),
    Mutant(
        "rules read each other's deadlines",
        RULESET,
        "deadline_column(whole.withins.index(w)) for",
        "deadline_column(i) for",
    ),
    Mutant("a rule takes the kinds of others", RULESET, "if kind in own else -1", "if kind in own else 0"),
    Mutant("a rule that is due is not looked at", SHARD, "watermark < head.wake_at:", "True:"),
    Mutant("what one rule cannot use, none gets", PACK, "is_used |= names", "is_used = names"),
    # Segments as files
    Mutant("files have no end", NEARBY, "        while self._size > self._limit:\n", "        while False:\n"),
    Mutant("what is dropped still takes room", NEARBY, "self._size -= self._written.pop", "self._written.pop"),
    Mutant(
        "an error of the disk ends the stream",
        NEARBY,
        "with suppress(OSError):\n            self._folder.mkdir",
        "if True:\n            self._folder.mkdir",
    ),
    Mutant("files outlive their segments", STATE, "            self._nearby.drop(number)\n", ""),
    Mutant("what is in a file is asked for", NEARBY, "        if found is not None:\n", "        if False:\n"),
    Mutant(
        "what is nothing is kept for ever",
        SEGMENT,
        "np.flatnonzero(_holds_something(kept))",
        "np.arange(kept.num_rows)",
    ),
    Mutant(
        "what a merged segment had replaced counts again",
        SEGMENT,
        "_NOWHERE) for other in newer)])",
        "_NOWHERE) for other in newer[1:])])",
    ),
    Mutant(
        "segments that only take away are never merged",
        SEGMENT,
        "return max(len(self), sum(map(len, self.replaced.values())))",
        "return len(self)",
    ),
    Mutant("segments are read from the first", SEGMENT, "[start + place for start", "[place for start"),
    # What is written of them
    Mutant(
        "the state of another stream is taken", STATE, "        if settings != self._settings:\n", "        if False:\n"
    ),
    Mutant("a timer that has fired is deleted", STATE, "if old != NEVER and not self.is_awake:", "if old != NEVER:"),
    Mutant(
        "a distance is read as a time",
        STORED,
        "(written[DUE].to_numpy() + _first_seen(written))",
        "(written[DUE].to_numpy())",
    ),
    Mutant("a slice is read from its whole", COMPACT, '"<u4")[2 * array.offset :]', '"<u4")[0:]'),
    Mutant(
        "upper halves come first",
        COMPACT,
        "np.stack([first.fill_null(0).to_numpy(), next(columns).to_numpy()], axis=1)",
        "np.stack([next(columns).to_numpy(), first.fill_null(0).to_numpy()], axis=1)",
    ),
    Mutant(
        "nulls are zeros when they come back",
        COMPACT,
        "nulls = first.buffers()[0] if first.null_count else None",
        "nulls = None",
    ),
    Mutant("a part begins where the last one did", COMPACT, "        start += packed\n", ""),
    # Rules that come and go
    Mutant(
        "a new rule looks at old events", RULESET, "        if self.shape.since is not None:\n", "        if False:\n"
    ),
    Mutant(
        "a new rule misses an instant", RULESET, ".to_numpy() > self.shape.since", ".to_numpy() > self.shape.since + 1"
    ),
    Mutant("what is left is told", SHARD, "    if not rule.is_told:\n", "    if False:\n"),
    Mutant("a removed rule is kept", SHARD, "    heads: Heads = {}\n", "    heads: Heads = dict(old)\n"),
    Mutant("what ended by the removal is cancelled", REMOVE, "decide(groups, at + 1)", "decide(groups, at)"),
    Mutant("a rule that comes back has its old start", CHANGES, "{**entry, SINCE: newest}", "dict(entry)"),
    Mutant("a new rule starts at the watermark", CHANGES, ' + duration_ms(kept["late"]) + 1', " + 1"),
    Mutant("a changed rule keeps its name", CHANGES, "    _check_meanings(old.rules, rules, folder)\n", ""),
    Mutant("rules change within a micro-batch", CHANGES, "    if unfinished is not None:\n", "    if False:\n"),
    Mutant(
        "a change that is under way is taken back",
        CHANGES,
        "old.batch == next_batch and unfinished is None",
        "old.batch == next_batch",
    ),
    # Forgetting
    Mutant("a key is forgotten an instant early", GROUPS, "self.at > self.done_until", "self.at >= self.done_until"),
    Mutant("a mark is dropped too soon", GROUPS, "(self.done_until >= watermark)", "(self.done_until > watermark + 1)"),
    Mutant(
        "a mark is never dropped",
        GROUPS,
        "is_done=self.is_done & (self.done_until >= watermark)",
        "is_done=self.is_done",
    ),
    Mutant(
        "the next opening waits for the next step",
        DECIDE,
        "    while groups.shape.forgets_keys and step.outcomes.num_rows:\n",
        "    while False:\n",
    ),
    Mutant(
        "what the next operation needs is settled",
        DECIDE,
        "        is_settled &= ~is_next(",
        "        is_settled &= True | is_next(",
    ),
    Mutant("openings of a key that is taken are dropped", KEEP, "    if not shape.forgets_keys:\n", "    if True:\n"),
    Mutant(
        "nobody is woken to forget",
        DECIDE,
        "        forget_in_time(groups, rows[groups.at[rows] < watermark], due)\n",
        "        pass\n",
    ),
    Mutant(
        "only the first report of a level is remembered",
        KEEP,
        "rows = np.union1d(first, _last",
        "rows = np.union1d(first, 0 * _last",
    ),
    Mutant(
        "levels are forgotten under an open operation",
        KEEP,
        "is_remembered | is_open[",
        "is_remembered | (False & is_open)[",
    ),
    Mutant("levels are remembered for ever", KEEP, "    if groups.shape.remember_ms is None:\n", "    if True:\n"),
    Mutant(
        "what is remembered is rounded down",
        SHAPE,
        "-((-(times + self.remember_ms)) // grain) * grain",
        "((times + self.remember_ms) // grain) * grain",
    ),
]
