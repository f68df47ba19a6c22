"""The report says what the outcomes say, in one file that needs nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from replay.logs import DAY, PAID, orders, outcome_table
from replay.page import Node, parsed, section, table, tips
from sojourn import Event, Rule, all_of, until_column
from sojourn.pipeline.report import Report
from sojourn.pipeline.results.deadlines import Deadline, deadlines
from sojourn.pipeline.results.tally import Tally, tally
from sojourn.pipeline.schema import GROUP
from sojourn.rules import AsOf, outcomes

WORDS = ("completed", "met late", "never met", "cancelled", "pending")


def page(report: Report) -> Node:
    return parsed(report.html())


def told(texts: list[str]) -> dict[str, int]:
    """The counts in texts such as "1 Jan 1970: 2 completed, 1 met late", added up."""
    sums = dict.fromkeys(WORDS, 0)
    for text in texts:
        for number, word in re.findall(rf"([\d,]+) ({'|'.join(WORDS)})", text):
            sums[word] += int(number.replace(",", ""))
    return sums


def counted(tally: Tally) -> dict[str, int]:
    return dict(zip(WORDS, tally.counts[:5], strict=True))


@pytest.fixture
def shown() -> Node:
    table = orders().append_column(GROUP, [["north", "north", "south", "south", None]])
    report = Report(
        tally(table, deadlines("30 days, 98 days"), [PAID]), [PAID], "orders.csv", "local", "region", {"no key": 3}
    )
    return page(report)


def test_the_numbers_at_the_top_are_those_of_the_outcomes(shown: Node) -> None:
    assert [(number.all("b")[0].text, number.all("span")[0].text) for number in shown.all("div", "number")] == [
        ("5", "operations opened"),
        ("40.0%", "completed: 2"),
        ("20.0%", "met late: 1"),
        ("40.0%", "never met: 2"),
    ]


def test_the_header_says_the_rule_the_log_and_the_period(shown: Node) -> None:
    header = shown.all("header")[0]
    assert [part.text for part in (*header.all("h1"), *header.all("p"))] == [
        "paid",
        "From the first ordered, until paid, within 60 days.",
        "orders.csv, 1 Jan 1970 to 5 Jan 1970",
    ]


def test_outcomes_over_time_are_all_outcomes(shown: Node) -> None:
    assert told(tips(section(shown, "Outcomes over time"))) == dict(zip(WORDS, (2, 1, 2, 0, 0), strict=True))


def test_columns_are_stacked_from_the_bottom_and_as_high_as_their_counts() -> None:
    rule = Rule("paid", opens="ordered", until="paid", within="60 days", cancels="withdrawn")
    events = [Event(str(i), "ordered", 0) for i in range(10)] + [Event(str(i), "paid", DAY) for i in range(5)]
    events += [Event(str(i), "paid", 70 * DAY) for i in range(5, 8)] + [Event("8", "withdrawn", DAY)]
    report = page(Report(tally(outcome_table(outcomes(rule, events))), [rule]))
    bars = section(report, "Outcomes over time").all("rect")
    assert [bar.attributes["class"] for bar in bars] == ["completed", "met_late", "never_met", "cancelled"]
    heights, tops = ([float(bar.attributes[name]) for bar in bars] for name in ("height", "y"))
    assert [height / heights[0] for height in heights] == [1, 0.6, 0.2, 0.2]
    assert [round(400 - top, 6) for top in tops] == [round(sum(heights[: i + 1]), 6) for i in range(4)]


def test_the_deadline_is_drawn_between_the_completed_and_the_late(shown: Node) -> None:
    chart = section(shown, "How long it took")
    line = float(chart.all("line", "deadline")[0].attributes["x1"])
    for bar in chart.all("rect"):
        left, width = float(bar.attributes["x"]), float(bar.attributes["width"])
        assert left + width < line if bar.attributes["class"] == "completed" else left > line
    assert chart.all("span", "flag")[0].text == "deadline: 60 days"
    assert told(tips(chart)) == dict(zip(WORDS, (2, 1, 0, 0, 0), strict=True))


def test_the_what_if_table_has_the_deadlines_asked_for_and_the_one_that_is(shown: Node) -> None:
    assert table(section(shown, "What if the deadline were different")) == [
        ["30 days", "1", "20.0%", "2", "2"],
        ["60 days", "2", "40.0%", "1", "2"],
        ["98 days", "3", "60.0%", "0", "2"],
    ]


def test_the_curve_says_what_each_deadline_would_have_completed(shown: Node) -> None:
    curve = tips(section(shown, "What if the deadline were different"))
    assert "60 days: 40.0% would have completed (11.8% to 87.4%)" in curve
    assert any(re.match(r"9[89] days.*60.0% would have completed \(24.7% to 94.8%\)", tip) for tip in curve)


def test_groups_are_told_with_the_worst_first_and_how_long_they_take(shown: Node) -> None:
    assert table(section(shown, "By region")) == [
        ["(none)", "", "0%", "not reached", "not reached", "not reached", "1"],
        ["south", "", "0%", "98 days", "not reached", "not reached", "2"],
        ["north", "", "100%", "10 days", "60 days", "60 days", "2"],
    ]


def test_many_groups_are_told_as_the_largest_and_the_rest() -> None:
    rows = outcomes(ENDING, [Event(f"{i:03}", "a", 0) for i in range(60)], as_of="complete")
    found = outcome_table(rows).append_column(GROUP, [[f"group {i % 30:02}" for i in range(60)]])
    rule = Rule("r", opens="a", until="b", within="1 day")
    cells = table(section(page(Report(tally(found), [rule], by="team")), "By team"))
    assert len(cells) == 25
    assert cells[-1] == ["6 others", "", "0%", "12"]


def test_the_slowest_and_those_never_met_explain_themselves(shown: Node) -> None:
    assert table(section(shown, "The slowest")) == [
        ["c", "3 Jan 1970", "expired at 1970-03-04 00:00:00 UTC after 60 days: missing paid; met 38 days late"],
        ["b", "2 Jan 1970", "completed by paid at 1970-03-03 00:00:00 UTC after 60 days"],
        ["a", "1 Jan 1970", "completed by paid at 1970-01-11 00:00:00 UTC after 10 days"],
    ]
    assert table(section(shown, "Never met")) == [
        ["e", "5 Jan 1970", "expired at 1970-03-06 00:00:00 UTC after 60 days: missing paid"],
        ["d", "4 Jan 1970", "expired at 1970-03-05 00:00:00 UTC after 60 days: missing paid"],
    ]


def test_what_was_set_aside_is_told(shown: Node) -> None:
    assert table(section(shown, "Set aside")) == [["no key", "3"]]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    html = Report(tally(orders()), [PAID]).html()
    assert not re.search(r"(?:src|href)=[\"'](?!#)|https?://|@import|url\(", html)


def test_texts_of_the_log_are_not_html() -> None:
    nasty = '<script>alert("x")</script>'
    rule = Rule(nasty.replace("/", "!"), opens=nasty, until=nasty + "&", within="1 day")
    events = [Event(nasty, nasty, 0), Event("b", nasty, 0), Event("b", nasty + "&", 1)]
    found = outcome_table(outcomes(rule, events, as_of="complete"))
    found = found.append_column(GROUP, [[nasty] * 2])
    report = page(Report(tally(found), [rule], nasty, nasty, nasty, {nasty: 1}))
    assert [script.attributes for script in report.all("script")] == [{"type": "application/json", "id": "cases"}, {}]
    assert nasty in str(cases(report))
    assert nasty in section(report, "Never met").text
    assert nasty in section(report, "Set aside").text


def test_a_very_long_key_is_cut() -> None:
    rule = Rule("r", opens="a", until="b", within="1 day")
    found = outcome_table(outcomes(rule, [Event("x" * 1_000_000, "a", 0)], as_of="complete"))
    html = Report(tally(found), [rule]).html()
    assert table(section(parsed(html), "Never met"))[0][0] == "x" * 120 + "..."
    assert len(html) < 50_000


def test_a_deadline_of_its_own_for_each_is_where_all_are_measured_from() -> None:
    rule = Rule("due", opens="a", until="b", within=until_column("due"))
    events = [Event(str(i), "a", i * DAY, columns={"due": i * DAY + i * 60_000}) for i in range(10)]
    events += [Event(str(i), "b", i * DAY + 5 * 60_000) for i in range(10)]
    tallies = tally(outcome_table(outcomes(rule, events)), deadlines("-5 min, +5 min"), [rule])
    report = page(Report(tallies, [rule]))
    chart = section(report, "How long it took")
    assert chart.all("span", "flag")[0].text == "deadline"
    assert told(tips(chart)) == {**counted(tallies["due"]), "never met": 0}
    assert [row[:2] for row in table(section(report, "What if the deadline were different"))] == [
        ["5 min earlier", "0"],
        ["as it is", "5"],
        ["5 min later", "10"],
    ]


def test_the_curve_counts_those_that_were_met_before_it_starts() -> None:
    rule = Rule("due", opens="a", until="b", within=until_column("due"))
    allowed = [DAY] * 2 + [(i % 50 + 10) * 60_000 for i in range(998)]
    events = [Event(str(i), "a", 0, columns={"due": ms}) for i, ms in enumerate(allowed)]
    events += [Event(str(i), "b", 30 * 60_000) for i in range(1_000)]
    tallies = tally(outcome_table(outcomes(rule, events)), rules=[rule])
    report = page(Report(tallies, [rule]))
    assert "2 earlier than" in section(report, "How long it took").text
    curve = tips(section(report, "What if the deadline were different"))
    completed = tallies["due"].counts.completed
    assert [tip for tip in curve if tip.startswith("deadline:")] == [
        f"deadline: {completed / 10:.1f}% would have completed (57.0% to 63.0%)"
    ]


def test_a_rule_that_awaits_nothing_shows_how_long_its_operations_lived() -> None:
    rule = Rule("beat", opens="join", keeps_alive="beat", within="10 s")
    events = [Event(str(i), "join", 0) for i in range(5)] + [Event(str(i), "beat", i * 3_000) for i in range(5)]
    tallies = tally(outcome_table(outcomes(rule, events, as_of="complete")))
    report = page(Report(tallies, [rule]))
    pending = tips(section(report, "How long they were pending"))
    assert [text.rpartition(": ")[2] for text in pending] == ["2 expired", "1 expired", "1 expired", "1 expired"]
    assert [number.all("span")[0].text for number in report.all("div", "number")] == ["operations opened", "expired: 5"]
    assert len(table(section(report, "Expired"))) == 5
    assert "What if the deadline were different" not in report.text


def test_several_rules_stand_one_below_the_other_and_can_be_gone_to() -> None:
    other = Rule("withdrawn", opens="ordered", until="withdrawn", within="1 day")
    report = page(Report({**tally(orders()), **tally(orders(other))}, [PAID, other]))
    assert [link.attributes["href"] for link in report.all("a")] == ["#paid", "#withdrawn"]
    assert [header.attributes["id"] for header in report.all("header")] == ["paid", "withdrawn"]


def test_what_was_missing_is_told_where_it_differs() -> None:
    rule = Rule("r", opens="a", until=all_of("b", "c"), within="1 day")
    events = [Event(str(i), "a", 0) for i in range(12)] + [Event(str(i), "b", 1) for i in range(4)]
    report = page(Report(tally(outcome_table(outcomes(rule, events))), [rule]))
    assert table(section(report, "What was missing")) == [["b and c", "8"], ["c", "4"]]


def cases(report: Node) -> dict[str, dict[str, Any]]:
    """What the bars lead to: by rule, then by bar."""
    found: dict[str, dict[str, Any]] = json.loads(report.all("script")[0].text)
    return found


def test_a_bar_leads_to_the_cases_behind_it(shown: Node) -> None:
    chart = section(shown, "Outcomes over time")
    assert chart.all("div")[0].attributes["data-rule"] == "paid"
    bars = {bar.attributes["data-cases"]: bar.attributes["class"] for bar in chart.all("rect")}
    told = cases(shown)["paid"]
    assert bars.keys() == told.keys()
    assert [told[bar] for bar, status in bars.items() if status == "met_late"] == [
        {"title": "3 Jan 1970 00:00: 1 met late", "ids": ["paid/c/172800000"]}
    ]
    assert sorted(name for bar in told.values() for name in bar["ids"]) == sorted(
        f"paid/{key}/{day * DAY}" for day, key in enumerate("abcde")
    )


def test_of_many_cases_behind_a_bar_the_first_hundred_are_named() -> None:
    rule = Rule("r", opens="a", until="b", within="1 day")
    rows = outcomes(rule, [Event(f"{i:04}", "a", i % 7) for i in reversed(range(1_000))], as_of="complete")
    bar = cases(page(Report(tally(outcome_table(rows)), [rule])))["r"]["0.2"]
    assert bar["title"] == "1 Jan 1970 00:00:00.000: 143 never met, the first 100"
    assert bar["ids"] == [f"r/{i:04}/0" for i in range(0, 700, 7)]


ENDING = Rule("r", opens="a", until="b", within="10 days")


def ending_log(as_of: AsOf) -> Tally:
    """One opens every day for 40 days: those of even days are met after 3 days, the others after 12."""
    events = [Event(str(i), "a", i * DAY) for i in range(40)]
    events += [Event(str(i), "b", (i + (12 if i % 2 else 3)) * DAY) for i in range(40)]
    found = outcome_table(outcomes(ENDING, events, as_of=as_of))
    return tally(found, deadlines("12 days"), [ENDING], as_of)["r"]


def test_what_is_pending_is_on_top_of_the_last_bars() -> None:
    tallies = {"r": ending_log(40 * DAY)}
    report = page(Report(tallies, [ENDING]))
    chart = section(report, "Outcomes over time")
    assert told(tips(chart)) == counted(tallies["r"]) == dict(zip(WORDS, (19, 14, 1, 0, 6), strict=True))
    pending = [float(bar.attributes["x"]) for bar in chart.all("rect", "pending")]
    assert len(pending) == 6
    assert min(pending) > 1_000 * 30 / 40
    assert report.all("footer")[0].text.startswith("40 opened = 19 completed + 15 expired + 6 pending.")
    assert "as of 1970-02-10 00:00:00 UTC" in report.all("header")[0].text


def test_what_is_pending_does_not_bend_the_curve() -> None:
    own = ending_log(40 * DAY)
    shown = page(Report({"r": own}, [ENDING]))
    curve = section(shown, "What if the deadline were different")
    assert own.completed().share == own.what_if[Deadline(12 * DAY)].estimate().share - 0.5 == 0.5
    assert "For nine in ten to complete, the deadline would have to be 12 days" in curve.text
    assert table(curve) == [["10 days", "19", "50.0%", "14", "1", "6"], ["12 days", "33", "100%", "0", "0", "7"]]
    assert len(curve.all("polygon", "band")) == 1


def test_a_deadline_that_was_never_seen_is_not_named() -> None:
    rows = outcomes(ENDING, [Event("x", "a", 0), Event("y", "a", 0), Event("x", "b", DAY)], as_of=5 * DAY)
    shown = page(Report(tally(outcome_table(rows), rules=[ENDING]), [ENDING]))
    text = section(shown, "What if the deadline were different").text
    assert "For half to complete, the deadline would have to be 1 day (between 1 day and no end" in text
    assert "The longest deadline that can be judged is 5 days: 50.0% complete under it." in text


def test_share_and_time_are_told_period_by_period() -> None:
    shown = page(Report({"r": ending_log(40 * DAY)}, [ENDING]))
    trend = section(shown, "Better or worse")
    texts = tips(trend)
    assert "1 Jan 1970: 100% completed (0% to 100%), of 1" in texts
    assert "2 Jan 1970: 0% completed, of 1" in texts
    assert "1 Jan 1970: p50 3 days, p90 3 days, p95 3 days" in texts
    assert "9 Feb 1970: p50 not reached, p90 not reached, p95 not reached" in texts
    assert len(trend.all("polyline", "p50")) == len(trend.all("polyline", "p95"))  # one, and one for each gap
    assert trend.all("span", "level")[0].text == "deadline: 10 days"


def test_periods_of_which_less_than_half_is_ever_completed_are_drawn_without_a_line() -> None:
    """Deadlines are from a column, so that none of them gives the axis a length."""
    rule = Rule("due", opens="a", until="b", within=until_column("due"))
    events = [Event(str(i), "a", i % 2 * DAY, columns={"due": 2 * DAY}) for i in range(10)]
    events += [Event(str(i), "b", DAY + 1) for i in range(2)]
    report = page(Report(tally(outcome_table(outcomes(rule, events, as_of="complete")), rules=[rule]), [rule]))
    trend = section(report, "Better or worse")
    assert tips(trend)[-2:] == [
        f"{day} Jan 1970 00:00: p50 not reached, p90 not reached, p95 not reached" for day in (1, 2)
    ]
    assert trend.all("polyline", "p50") == []


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(
            st.integers(-(10**14), 10**14) | st.integers(0, 100),
            st.none() | st.integers(0, 10**13) | st.integers(0, 100),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from([0, 1, 50, 60 * DAY, 400_000 * DAY]),
    st.sampled_from(["log", "complete", 10**12]),
)
def test_whatever_the_outcomes_the_charts_add_up(
    rows: list[tuple[int, int | None, bool]], within: int, as_of: AsOf
) -> None:
    rule = Rule("r", opens="a", until="b", within=within, cancels="c")
    events = [Event(str(i), "a", at) for i, (at, _, _) in enumerate(rows)]
    events += [Event(str(i), "b", at + wait) for i, (at, wait, _) in enumerate(rows) if wait is not None]
    events += [Event(str(i), "c", at + 7) for i, (at, _, is_cancelled) in enumerate(rows) if is_cancelled]
    found = outcome_table(outcomes(rule, events, as_of=as_of))
    assume(len(found))
    tallies = tally(found, deadlines("0 ms, 10 days"), [rule])
    own = tallies["r"]
    report = page(Report(tallies, [rule]))
    assert told(tips(section(report, "Outcomes over time"))) == counted(own)
    if own.counts.completed + own.counts.met_late:
        chart = section(report, "How long it took")
        beyond = sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:later|earlier) than", chart.text))
        drawn = told(tips(chart))
        assert drawn["completed"] + drawn["met late"] + beyond == own.counts.completed + own.counts.met_late
        assert drawn["completed"] == own.counts.completed
