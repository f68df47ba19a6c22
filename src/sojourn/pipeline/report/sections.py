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
from .parts import TableColumn, figure, key, numbers, paragraph, section, split, table
from .scale import date_text
from .words import Labels, count_text, labels_of, share_text, short

GROUPS = 24
"""How many groups are drawn, the largest; the others are drawn as one."""

MISSING = 8
"""How many of the things that were missing are named, the most frequent."""


def sections(rule: Rule, tally: Tally, by: str | None) -> Iterator[str]:
    """All that there is to say of a rule, as HTML, the most important first."""
    labels = labels_of(rule)
    yield section(None, numbers(tally.counts, labels))
    if tally.counts.opened:
        yield from what_opened(rule, tally, by, labels)
    yield section("The rule", paragraph(f"{rule}."), f"<pre>{escape(rule.to_toml().strip())}</pre>")


def what_opened(rule: Rule, tally: Tally, by: str | None, labels: Labels) -> Iterator[str]:
    yield over_time(tally, labels)
    if isinstance(rule.until, Never):
        yield section("How long they were pending", figure(charts.lifetimes(tally, labels), key(tally.counts, labels)))
    elif len(tally.slack.places):
        axis = Axis.around(tally)
        yield waiting(tally, axis, labels)
        yield what_if(rule, tally, axis)
    if tally.groups:
        yield groups(tally, by or "group", labels)
    yield from examples(tally, labels)
    if len(tally.missing) > 1:
        yield missing(tally)


def over_time(tally: Tally, labels: Labels) -> str:
    plot, unit = charts.over_time(tally, labels)
    return section("Outcomes over time", figure(plot, key(tally.counts, labels), f"By {unit} of opening, in UTC."))


def waiting(tally: Tally, axis: Axis, labels: Labels) -> str:
    met = tally.counts.completed + tally.counts.met_late
    half = axis.met_text(axis.by_when(tally.slack, 0.5))
    earlier, later = axis.outside(tally.slack)
    beyond = [f"{count_text(later)} later than {axis.text(axis.end)}"] if later else []
    beyond += [f"{count_text(earlier)} earlier than {axis.text(axis.start)}"] if earlier else []
    note = f"Not drawn: {' and '.join(beyond)}." if beyond else ""
    return section(
        "How long it took",
        paragraph(f"{count_text(met)} were met, in time or late; half of them {half}."),
        figure(charts.met_when(tally, axis, labels), key(Counts(*tally.counts[:2]), labels), note),
    )


def what_if(rule: Rule, tally: Tally, axis: Axis) -> str:
    note = "The curve is the share that would have completed, by deadline."
    if not tally.is_all_known:
        note += f" Under a longer one some of them may have been cancelled by {rule.cancels}."
    return section(
        "What if the deadline were different",
        paragraph(needed(tally, axis)),
        figure(charts.share_met(tally, axis), note=note),
        what_if_table(tally, axis, labels_of(rule)),
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


def what_if_table(tally: Tally, axis: Axis, labels: Labels) -> str:
    now = Deadline(0, is_shift=True) if axis.allowed is None else Deadline(axis.allowed)
    tried = {**tally.what_if, now: tally.counts}
    order = sorted(tried, key=lambda deadline: (deadline.is_shift, deadline.ms))
    columns = [TableColumn("deadline"), TableColumn("completed", "n"), TableColumn("share", "n")]
    columns += [TableColumn("met late", "n"), TableColumn("never met", "n wide")]
    names = [name for name in (CANCELLED, UNKNOWN) if any(getattr(counts, name) for counts in tried.values())]
    columns += [TableColumn(labels[name], "n wide") for name in names]
    rows = [[deadline_text(deadline), *what_if_cells(tried[deadline], names)] for deadline in order]
    return table(columns, rows, marked=order.index(now))


def what_if_cells(counts: Counts, further: Sequence[str]) -> list[str]:
    """All counts that there are, so that a row adds up."""
    share = share_text(counts.completed, counts.opened)
    others = [counts.met_late, counts.never_met, *(getattr(counts, name) for name in further)]
    return [count_text(counts.completed), share, *map(count_text, others)]


def deadline_text(deadline: Deadline) -> str:
    if not deadline.is_shift or not deadline.ms:
        return str(deadline) if deadline.ms else "as it is"
    return f"{duration_text(abs(deadline.ms))} {'earlier' if deadline.ms < 0 else 'later'}"


def groups(tally: Tally, by: str, labels: Labels) -> str:
    """The largest groups, the one with the largest share completed first."""
    by_size = sorted(tally.groups, key=lambda name: (-tally.groups[name].opened, name))
    order = sorted(by_size[:GROUPS], key=lambda name: (-tally.groups[name].completed / tally.groups[name].opened, name))
    rows = [group_row(name or "(none)", tally.groups[name], labels) for name in order]
    if rest := by_size[GROUPS:]:
        together = Counts(*map(sum, zip(*(tally.groups[name] for name in rest), strict=True)))
        rows.append(group_row(f"{count_text(len(rest))} others", together, labels))
    columns = [TableColumn(by, "id"), TableColumn("", "bar"), TableColumn("completed", "n"), TableColumn("opened", "n")]
    return section(f"By {by}", key(tally.counts, labels), table(columns, rows, "cards groups"))


def group_row(name: str, counts: Counts, labels: Labels) -> list[str]:
    return [
        escape(short(name)),
        split(counts, labels),
        share_text(counts.completed, counts.opened),
        count_text(counts.opened),
    ]


def examples(tally: Tally, labels: Labels) -> Iterator[str]:
    if tally.slowest:
        lead = "Those met last, seen from their deadline."
        yield section("The slowest", paragraph(lead, "soft"), example_table(tally.slowest))
    if tally.unmet:
        lead = f"{count_text(len(tally.unmet))} of {count_text(tally.counts.never_met)}, those opened last."
        yield section(labels[NEVER_MET].capitalize(), paragraph(lead, "soft"), example_table(tally.unmet))


def example_table(outcomes: Sequence[Outcome]) -> str:
    columns = [TableColumn("key", "id"), TableColumn("opened"), TableColumn("what became of it")]
    return table(
        columns,
        [[escape(short(o.key)), date_text(o.opened_at), escape(outcome_text(o))] for o in outcomes],
        "cards examples",
    )


def outcome_text(outcome: Outcome) -> str:
    """An outcome's own explanation, with what was missing."""
    return outcome._replace(seen=f"missing {short(outcome.missing)}" if outcome.missing else "").explain()


def missing(tally: Tally) -> str:
    numbers = {text: counts.opened for text, counts in tally.missing.items()}
    order = sorted(numbers, key=lambda text: (-numbers[text], text))
    rows = [[escape(short(text)), count_text(numbers[text])] for text in order[:MISSING]]
    if rest := order[MISSING:]:
        rows.append([f"{count_text(len(rest))} other things", count_text(sum(numbers[text] for text in rest))])
    return section("What was missing", table([TableColumn("what"), TableColumn("operations", "n")], rows))
