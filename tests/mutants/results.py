"""Bugs for what is made of outcomes: counts, durations, estimates, what-ifs, the report, recommendations."""

from __future__ import annotations

from .mutant import Mutant

BINS = "src/sojourn/pipeline/results/bins.py"
CELLS = "src/sojourn/pipeline/results/cells.py"
PERIODS = "src/sojourn/pipeline/results/periods.py"
CALENDAR = "src/sojourn/pipeline/results/calendar.py"
NAMED = "src/sojourn/pipeline/results/named.py"
OBSERVED = "src/sojourn/pipeline/results/observed.py"
SURVIVAL = "src/sojourn/pipeline/results/survival.py"
RECOMMEND = "src/sojourn/pipeline/results/recommend.py"
TALLY = "src/sojourn/pipeline/results/tally.py"
WHAT_IF = "src/sojourn/pipeline/results/what_if.py"
AXIS = "src/sojourn/pipeline/report/axis.py"
CHARTS = "src/sojourn/pipeline/report/charts.py"
SECTIONS = "src/sojourn/pipeline/report/sections.py"
TRENDS = "src/sojourn/pipeline/report/trends.py"
CASES = "src/sojourn/pipeline/report/cases.py"

MUTANTS = [
    # Counting
    Mutant("what lies below 0 is not mirrored", BINS, "sign = values >> 63", "sign = values & 0"),
    Mutant(
        "an interval starts where it ends",
        BINS,
        "self.begin[part] + (places - self",
        "self.begin[part] + (places + 1 - self",
    ),
    Mutant(
        "merging forgets the coarser of the two", BINS, "level = max(self.level, other.level)", "level = self.level"
    ),
    Mutant(
        "there are intervals without end",
        BINS,
        "        while len(both.places) > MOST and both",
        "        while both.level > 9 and both",
    ),
    Mutant(
        "a round number is shorter",
        BINS,
        "return -int(GRID.start(GRID.place(np.array([-ms]), 1), 1)[0])",
        "return int(GRID.start(GRID.place(np.array([ms]), 1), 1)[0])",
    ),
    Mutant(
        "merged cells keep their own intervals",
        CELLS,
        "mine, theirs = self.coarser(level), other.coarser(level)",
        "mine, theirs = self, other",
    ),
    Mutant("a label has the cells of the next", CELLS, "[label, label + 1]", "[label, label + 2]"),
    Mutant(
        "another deadline forgets cancellations",
        OBSERVED,
        "verdict(self.met_at, self.cancelled_at, until, self.as_of)",
        "verdict(self.met_at, np.full(len(until), NEVER), until, self.as_of)",
    ),
    Mutant(
        "another deadline has no end of the log",
        OBSERVED,
        "self.cancelled_at, until, self.as_of)",
        "self.cancelled_at, until)",
    ),
    Mutant(
        "pending counts as never met",
        OBSERVED,
        "status_of.CANCELLED, status_of.PENDING\n",
        "status_of.CANCELLED, status_of.NEVER_MET\n",
    ),
    Mutant(
        "met late is never met",
        OBSERVED,
        "_STATUS_OF[:, EXPIRED] = status_of.NEVER_MET, status_of.MET_LATE\n",
        "_STATUS_OF[:, EXPIRED] = status_of.NEVER_MET\n",
    ),
    Mutant(
        "what was cancelled counts as met",
        OBSERVED,
        "is_met = (self.met_at <= self.cancelled_at) & (self.met_at < NEVER)",
        "is_met = self.met_at < NEVER",
    ),
    Mutant(
        "met when it is cancelled, it is cancelled",
        OBSERVED,
        "is_met = (self.met_at <= self",
        "is_met = (self.met_at < self",
    ),
    Mutant(
        "what is pending was seen for ever",
        OBSERVED,
        "end = NEVER if self.as_of is None else self.as_of",
        "end = NEVER",
    ),
    Mutant("what is cancelled was seen to the end of the log", OBSERVED, "np.minimum(self.cancelled_at, end))", "end)"),
    Mutant(
        "what came after the end is looked at",
        OBSERVED,
        "is_never if end is None else is_never | (ms > end)",
        "is_never",
    ),
    Mutant(
        "what opens after the end is there",
        OBSERVED,
        "return outcomes if is_there.all() else outcomes.filter(pa.array(is_there))",
        "return outcomes",
    ),
    Mutant("the pending do not say where the log ends", OBSERVED, "    return latest\n", "    return None\n"),
    Mutant(
        "what nobody can know is told",
        WHAT_IF,
        "if may_cancel and not numbers.is_all_known:",
        "if False and may_cancel:",
    ),
    Mutant("what is known is not told", WHAT_IF, "if may_cancel and not numbers.is_all_known:", "if may_cancel:"),
    Mutant(
        "a shorter deadline leaves the end open",
        WHAT_IF,
        "numbers.is_open() & (until > numbers.deadline)",
        "numbers.is_open()",
    ),
    Mutant(
        "one millisecond is room for a cancellation", OBSERVED, "is_open &= self.met_at != self.deadline + 1", "pass"
    ),
    Mutant(
        "a shift may end before the opening",
        WHAT_IF,
        "np.maximum(since + deadline.ms, numbers.opened_at)",
        "since + deadline.ms",
    ),
    Mutant(
        "what is met later than a deadline completes under it",
        WHAT_IF,
        "is_over = spells.last <= until",
        "is_over = spells.last <= until + 1",
    ),
    Mutant(
        "each rule has a log of its own",
        WHAT_IF,
        "        end = known_until(outcomes, self.as_of)\n        return {name: self._tries_of(name, observed(rows, end))",
        "        end = None\n        return {name: self._tries_of(name, observed(rows, known_until(rows, self.as_of)))",
    ),
    Mutant(
        "who is lost sight of is at risk no more when another is met",
        SURVIVAL,
        "at_risk = opened - gone + met + censored",
        "at_risk = opened - gone + met",
    ),
    Mutant(
        "one too many is at risk",
        SURVIVAL,
        "at_risk = opened - gone + met + censored",
        "at_risk = opened - gone + met + censored + 1",
    ),
    Mutant("those met are still at risk", SURVIVAL, "gone = np.cumsum(met + censored)", "gone = np.cumsum(censored)"),
    Mutant(
        "the censored hand nothing on",
        SURVIVAL,
        "weight = np.cumprod(np.append(opened, left[:-1])[: len(times)] / at_risk)",
        "weight = np.ones(len(times))",
    ),
    Mutant(
        "the band is as wide as half of it",
        SURVIVAL,
        "np.sqrt(variance) / -np.log(unmet)",
        "np.sqrt(variance) / 2 / -np.log(unmet)",
    ),
    Mutant(
        "the band is upside down",
        SURVIVAL,
        "low, high = 1 - unmet ** (1 / width), 1 - unmet**width",
        "high, low = 1 - unmet ** (1 / width), 1 - unmet**width",
    ),
    Mutant(
        "a deadline is later than it needs to be", SURVIVAL, "int(times[reached[0]]) if", "int(times[reached[-1]]) if"
    ),
    Mutant("what nobody was seen for is told", SURVIVAL, "return last if is_seen else None", "return last"),
    Mutant(
        "time runs backwards",
        SURVIVAL,
        "return Curve.of(-bins.starts[::-1], met,",
        "return Curve.of(-bins.starts[::-1], met[::-1],",
    ),
    Mutant(
        "what was met late completes in time",
        SURVIVAL,
        "(0 if only_completed else bins.counts[::-1, MET_LATE])",
        "bins.counts[::-1, MET_LATE]",
    ),
    Mutant(
        "the slowest are the fastest", TALLY, "numbers.met_at - numbers.deadline)", "numbers.deadline - numbers.met_at)"
    ),
    Mutant(
        "of examples that are equal any will do",
        TALLY,
        "is_high = ranks >= np.partition(ranks, -EXAMPLES)[-EXAMPLES]",
        "is_high = ranks > np.partition(ranks, -EXAMPLES)[-EXAMPLES]",
    ),
    Mutant(
        "those that miss nothing miss the last thing",
        NAMED,
        "code = pc.fill_null(encoded.indices, size).to_numpy()",
        "code = pc.fill_null(encoded.indices, max(0, size - 1)).to_numpy()",
    ),
    Mutant(
        "merged names lose those of the other",
        NAMED,
        "names = sorted({*self._names, *other._names})",
        "names = sorted(self._names)",
    ),
    Mutant(
        "the last cases are the first",
        PERIODS,
        'name, "ascending") for name in _CASES.names',
        'name, "descending") for name in _CASES.names',
    ),
    Mutant(
        "slots that begin too late are looked at", PERIODS, "[period - period[0]] < CASES", "[period - period[0]] < 1"
    ),
    Mutant("months of parts that begin later are moved", PERIODS, "self.first - first)", "first - first)"),
    Mutant("weeks begin on Thursdays", CALENDAR, "offset=-3 * DAY", "offset=0"),
    # Drawing
    Mutant(
        "the deadline's own instant is late",
        AXIS,
        "places = -(slack.starts // self.step) - 1 - self.start",
        "places = -(slack.starts // self.step) - self.start",
    ),
    Mutant(
        "what was met at its opening is not drawn",
        AXIS,
        "np.maximum(places, 0) if self.allowed is not None else places",
        "places",
    ),
    Mutant("the earliest are not drawn", AXIS, "start if allowed is not None else start - 1", "start"),
    Mutant("the curve has no band", CHARTS, "    plot.band(lows, highs)\n", ""),
    Mutant(
        "a bar leads to the cases of another", CHARTS, 'cases = f"{place}.{status}"', 'cases = f"{place}.{status - 1}"'
    ),
    Mutant("cases are HTML", CASES, '.replace("<", "\\\\u003c")', ""),
    Mutant(
        "the best group comes first",
        TRENDS,
        "(1 if (share := shares[name]) is None else share.share, name)",
        "(-1 if (share := shares[name]) is None else -share.share, name)",
    ),
    Mutant(
        "a share is told of what nobody was seen for",
        TRENDS,
        "only_completed=True).all_by(deadline)",
        "only_completed=True).last()",
    ),
    Mutant(
        "a recommendation is for what is met late only",
        RECOMMEND,
        "tally.curve(), tally.completed()",
        "tally.curve(), tally.curve().last()",
    ),
    Mutant("columns overlap", CHARTS, "            y += number\n", ""),
    Mutant(
        "the present deadline is not in the table",
        SECTIONS,
        "tried = {**tally.what_if, now: Tried(tally.counts, tally.slack)}",
        "tried = tally.what_if or {now: Tried(tally.counts, tally.slack)}",
    ),
    Mutant("keys are HTML", SECTIONS, "[escape(short(o.key)),", "[short(o.key),"),
]
