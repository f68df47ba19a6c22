"""The sections of a report on one rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ...rules import Never, Outcome, Rule
from ..results.bins import rounded_up
from ..results.calendar import date_text
from ..results.deadlines import Deadline, shift_text
from ..results.survival import Estimate
from ..results.tally import Counts, Tally
from ..results.what_if import Tried
from ..schema import CANCELLED, NEVER_MET, PENDING, UNKNOWN
from . import charts, trends
from .axis import Axis
from .parts import TableColumn, figure, key, numbers, paragraph, section, table
from .words import Labels, count_text, estimate_text, labels_of, share_text, short

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
    yield over_time(rule, tally, labels)
    axis = None
    if isinstance(rule.until, Never):
        yield section("How long they were pending", figure(charts.lifetimes(tally, labels), key(tally.counts, labels)))
    elif tally.counts.completed + tally.counts.met_late:
        axis = Axis.around(tally)
        yield waiting(tally, axis, labels)
        yield what_if(rule, tally, axis)
        if len(tally.periods[0].counts) > 1:
            yield trend(tally, axis)
    if tally.groups:
        yield groups(tally, by or "group", axis, labels)
    yield from examples(tally, labels)
    if len(tally.missing) > 1:
        yield missing(tally)


def over_time(rule: Rule, tally: Tally, labels: Labels) -> str:
    periods = tally.periods[0]
    note = f"By {periods.unit.name} of opening, in UTC. A bar leads to the cases behind it."
    plot = figure(charts.over_time(periods, labels), key(tally.counts, labels), note)
    return section("Outcomes over time", f'<div data-rule="{escape(rule.name)}">{plot}</div>')


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
    note = "The curve is the share that would have completed, by deadline; the band holds it with 95 % confidence."
    if tally.counts.pending or tally.counts.cancelled:
        note += " What was cancelled, or is pending, counts for as long as it was seen."
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
    curve = tally.curve()
    end = curve.last()
    unmet = f"{share_text(1 - end.share, 1)} did not complete under any deadline."
    if curve.end is not None and end.share < 1:
        longest = _moved(curve.end, axis)
        unmet = f"The longest deadline that can be judged is {longest}: {estimate_text(end)} complete under it."
    for share, words in ((0.9, "nine in ten"), (0.5, "half")):
        deadline = curve.deadline_for(share)
        if deadline.at is not None and deadline.earliest is not None:
            latest = "no end" if deadline.latest is None else _moved(deadline.latest, axis)
            interval = f"between {_moved(deadline.earliest, axis)} and {latest}, with 95 % confidence"
            asked = f"For {words} to complete, the deadline would have to be {_moved(deadline.at, axis)} ({interval})."
            return f"{asked} {unmet}"
    return unmet


def _moved(at: int, axis: Axis) -> str:
    return axis.moved_text(rounded_up(at) - (axis.allowed or 0))


def what_if_table(tally: Tally, axis: Axis, labels: Labels) -> str:
    now = Deadline(0, is_shift=True) if axis.allowed is None else Deadline(axis.allowed)
    tried = {**tally.what_if, now: Tried(tally.counts, tally.slack)}
    order = sorted(tried, key=lambda deadline: (deadline.is_shift, deadline.ms))
    columns = [TableColumn("deadline"), TableColumn("completed", "n"), TableColumn("share", "n")]
    columns += [TableColumn("met late", "n"), TableColumn("never met", "n wide")]
    names = [n for n in (CANCELLED, PENDING, UNKNOWN) if any(getattr(one.counts, n) for one in tried.values())]
    columns += [TableColumn(labels[name], "n wide") for name in names]
    shares = {deadline: tally.completed() if deadline == now else one.estimate() for deadline, one in tried.items()}
    rows = [
        [deadline_text(deadline), *what_if_cells(tried[deadline].counts, shares[deadline], names)] for deadline in order
    ]
    return table(columns, rows, marked=order.index(now))


def what_if_cells(counts: Counts, share: Estimate | None, further: Sequence[str]) -> list[str]:
    """All counts that there are, so that a row adds up."""
    others = [counts.met_late, counts.never_met, *(getattr(counts, name) for name in further)]
    return [count_text(counts.completed), estimate_text(share), *map(count_text, others)]


def deadline_text(deadline: Deadline) -> str:
    return shift_text(deadline.ms) if deadline.is_shift else str(deadline)


def trend(tally: Tally, axis: Axis) -> str:
    periods = tally.periods[0]
    found = trends.points(periods, tally.deadline)
    gaps = "A line has a gap where so many do not complete, or nobody was seen for so long."
    note = f"By {periods.unit.name} of opening. {gaps}"
    return section(
        "Better or worse",
        paragraph("The share completed, and the time it takes."),
        figure(trends.share_over_time(periods, found)),
        figure(trends.time_over_time(periods, found, axis), trends.key_of_lines(), note),
    )


def groups(tally: Tally, by: str, axis: Axis | None, labels: Labels) -> str:
    return section(f"By {by}", key(tally.counts, labels), trends.group_table(tally, by, axis, labels))


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
