"""The sections of a report on one rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ...rules import Never, Outcome, Rule, duration_text
from ..results.deadlines import Deadline
from ..results.tally import Counts, Tally
from ..schema import CANCELLED, NEVER_MET, UNKNOWN
from . import charts
from .axis import Axis
from .parts import Column, figure, key, numbers, paragraph, section, split, table
from .scale import date_text
from .words import Words, count_text, share_text, short, words_of

GROUPS = 24
"""How many groups are drawn, the largest; the rest stand together."""

MISSING = 8
"""How many of the things that were missing are named, the most frequent."""


def sections(rule: Rule, tally: Tally, by: str | None) -> Iterator[str]:
    """All that there is to say of a rule, as HTML, the most important first."""
    words = words_of(rule)
    yield section(None, numbers(tally.counts, words))
    if tally.counts.opened:
        yield from what_opened(rule, tally, by, words)
    yield section("The rule", paragraph(f"{rule}."), f"<pre>{escape(rule.to_toml().strip())}</pre>")


def what_opened(rule: Rule, tally: Tally, by: str | None, words: Words) -> Iterator[str]:
    yield over_time(tally, words)
    if isinstance(rule.until, Never):
        yield section("How long they were pending", figure(charts.lifetimes(tally, words), key(tally.counts, words)))
    elif len(tally.slack.places):
        axis = Axis.around(tally)
        yield waiting(tally, axis, words)
        yield what_if(rule, tally, axis)
    if tally.groups:
        yield groups(tally, by or "group", words)
    yield from examples(tally, words)
    if len(tally.missing) > 1:
        yield missing(tally)


def over_time(tally: Tally, words: Words) -> str:
    plot, unit = charts.over_time(tally, words)
    return section("Outcomes over time", figure(plot, key(tally.counts, words), f"By {unit} of opening, in UTC."))


def waiting(tally: Tally, axis: Axis, words: Words) -> str:
    met = tally.counts.completed + tally.counts.met_late
    half = axis.met_text(axis.by_when(tally.slack, 0.5))
    earlier, later = axis.outside(tally.slack)
    beyond = [f"{count_text(later)} later than {axis.text(axis.end)}"] if later else []
    beyond += [f"{count_text(earlier)} earlier than {axis.text(axis.start)}"] if earlier else []
    note = f"Not drawn: {' and '.join(beyond)}." if beyond else ""
    return section(
        "How long it took",
        paragraph(f"{count_text(met)} were met, in time or late; half of them {half}."),
        figure(charts.met_when(tally, axis, words), key(Counts(*tally.counts[:2]), words), note),
    )


def what_if(rule: Rule, tally: Tally, axis: Axis) -> str:
    note = "The curve is the share that would have completed, by deadline."
    if not tally.is_all_known:
        note += f" Under a longer one some of them may have been cancelled by {rule.cancels}."
    return section(
        "What if the deadline were another",
        paragraph(needed(tally, axis)),
        figure(charts.share_met(tally, axis), note=note),
        what_if_table(tally, axis, words_of(rule)),
    )


def needed(tally: Tally, axis: Axis) -> str:
    """The deadline under which nine in ten would have completed, if there is any; half, if that is too much."""
    met, opened = int(tally.slack.counts.sum()), tally.counts.opened
    unmet = f"{share_text(opened - met, opened)} did not complete under any deadline."
    for share, words in ((0.9, "nine in ten"), (0.5, "half")):
        if met >= share * opened:
            deadline = axis.moved_text(axis.by_when(tally.slack, share * opened / met))
            return f"For {words} to complete, the deadline would have to be {deadline}. {unmet}"
    return unmet


def what_if_table(tally: Tally, axis: Axis, words: Words) -> str:
    now = Deadline(0, is_shift=True) if axis.allowed is None else Deadline(axis.allowed)
    tried = {**tally.what_if, now: tally.counts}
    order = sorted(tried, key=lambda deadline: (deadline.is_shift, deadline.ms))
    columns = [Column("deadline"), Column("completed", "n"), Column("share", "n")]
    columns += [Column("met late", "n"), Column("never met", "n wide")]
    names = [name for name in (CANCELLED, UNKNOWN) if any(getattr(counts, name) for counts in tried.values())]
    columns += [Column(words[name], "n wide") for name in names]
    rows = [[deadline_text(deadline), *what_if_cells(tried[deadline], names)] for deadline in order]
    return table(columns, rows, marked=order.index(now))


def what_if_cells(counts: Counts, further: Sequence[str]) -> list[str]:
    """So that a row adds up, all that there are."""
    share = share_text(counts.completed, counts.opened)
    others = [counts.met_late, counts.never_met, *(getattr(counts, name) for name in further)]
    return [count_text(counts.completed), share, *map(count_text, others)]


def deadline_text(deadline: Deadline) -> str:
    if not deadline.is_shift or not deadline.ms:
        return str(deadline) if deadline.ms else "as it is"
    return f"{duration_text(abs(deadline.ms))} {'earlier' if deadline.ms < 0 else 'later'}"


def groups(tally: Tally, by: str, words: Words) -> str:
    """The largest groups, the one with the largest share completed first."""
    by_size = sorted(tally.groups, key=lambda name: (-tally.groups[name].opened, name))
    order = sorted(by_size[:GROUPS], key=lambda name: (-tally.groups[name].completed / tally.groups[name].opened, name))
    rows = [group_row(name or "(none)", tally.groups[name], words) for name in order]
    if rest := by_size[GROUPS:]:
        together = Counts(*map(sum, zip(*(tally.groups[name] for name in rest), strict=True)))
        rows.append(group_row(f"{count_text(len(rest))} others", together, words))
    columns = [Column(by, "id"), Column("", "bar"), Column("completed", "n"), Column("opened", "n")]
    return section(f"By {by}", key(tally.counts, words), table(columns, rows, "cards groups"))


def group_row(name: str, counts: Counts, words: Words) -> list[str]:
    return [
        escape(short(name)),
        split(counts, words),
        share_text(counts.completed, counts.opened),
        count_text(counts.opened),
    ]


def examples(tally: Tally, words: Words) -> Iterator[str]:
    if tally.slowest:
        lead = "Those met last, seen from their deadline."
        yield section("The slowest", paragraph(lead, "soft"), example_table(tally.slowest))
    if tally.unmet:
        lead = f"{count_text(len(tally.unmet))} of {count_text(tally.counts.never_met)}, those opened last."
        yield section(words[NEVER_MET].capitalize(), paragraph(lead, "soft"), example_table(tally.unmet))


def example_table(outcomes: Sequence[Outcome]) -> str:
    columns = [Column("key", "id"), Column("opened"), Column("what became of it")]
    return table(
        columns, [[escape(short(o.key)), date_text(o.opened_at), escape(told(o))] for o in outcomes], "cards examples"
    )


def told(outcome: Outcome) -> str:
    """An outcome's own explanation, with what was missing."""
    return outcome._replace(seen=f"missing {short(outcome.missing)}" if outcome.missing else "").explain()


def missing(tally: Tally) -> str:
    numbers = {text: counts.opened for text, counts in tally.missing.items()}
    order = sorted(numbers, key=lambda text: (-numbers[text], text))
    rows = [[escape(short(text)), count_text(numbers[text])] for text in order[:MISSING]]
    if rest := order[MISSING:]:
        rows.append([f"{count_text(len(rest))} other things", count_text(sum(numbers[text] for text in rest))])
    return section("What was missing", table([Column("what"), Column("operations", "n")], rows))
