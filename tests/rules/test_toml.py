"""Rules as TOML: an exact round trip, and errors that name the line."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.strategies import rules
from sojourn import RuleError
from sojourn.rules import Rule, all_of, any_of, column, n_of, never, reached, seen, total, until_column
from sojourn.rules.event import Number

FINE = """\
[rule]
name   = "fine-paid"
opens  = "Insert Fine Notification"        # kind that opens an operation
per    = "first"
until  = "Payment"
within = "60 days"
cancels = "Send Appeal"                    # optional

[columns]
key = "case_id"
kind = "activity"
at = "timestamp"
"""
FINE_PAID = Rule(
    "fine-paid",
    "Insert Fine Notification",
    "Payment",
    "60 days",
    cancels="Send Appeal",
    columns={"key": "case_id", "kind": "activity", "at": "timestamp"},
)


def test_the_rule_of_the_design_is_read() -> None:
    assert Rule.from_toml(FINE) == FINE_PAID


def test_a_rule_is_read_from_a_file_by_path_or_name(tmp_path: Path) -> None:
    path = tmp_path / "fine-paid.toml"
    path.write_text("\ufeff" + FINE.replace("\n", "\r\n"), encoding="utf-8", newline="")
    assert Rule.from_toml(path) == Rule.from_toml(str(path)) == FINE_PAID


def test_an_error_in_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(FINE.replace("60 days", "60 dayz"))
    with pytest.raises(RuleError, match=r"bad\.toml, line 6: rule 'fine-paid': within: duration '60 dayz'"):
        Rule.from_toml(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fine-payd.toml", "there is no 'fine-payd.toml'; did you mean 'fine-paid.toml'?"),
        ("rule", "there is no 'rule'; name a rule file, in TOML"),
        ("nowhere/fine-paid.toml", "there is no 'nowhere/fine-paid.toml': the folder 'nowhere' does not exist"),
        (".", "'.' is a folder; name a rule file in it, such as './rule.toml'"),
        ("fine-paid.toml/a.toml", "there is no 'fine-paid.toml/a.toml': the folder 'fine-paid.toml' does not exist"),
        ("loop.toml", "the rule file 'loop.toml' cannot be read: Too many levels of symbolic links; see that it is"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fine-paid.toml").write_text(FINE)
    Path("loop.toml").symlink_to("loop.toml")
    with pytest.raises(RuleError, match=f"^{re.escape(message)}"):
        Rule.from_toml(Path(name))


@given(rules)
def test_every_rule_comes_back_equal_from_its_toml(rule: Rule) -> None:
    assert Rule.from_toml(rule.to_toml()) == rule


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(names.filter(lambda name: "/" not in name), names, names, st.integers(0, 2**62 - 1), st.floats(1e-9, 1e300))
def test_any_text_and_any_number_comes_back_from_toml(
    name: str, kind: str, column_name: str, within: int, at_least: float
) -> None:
    until = any_of(seen(kind, 2), total(kind, at_least=at_least), reached(kind, -at_least), never())
    rule = Rule(name, kind, until, within, columns={"key": column_name})
    assert Rule.from_toml(rule.to_toml()) == rule


@pytest.mark.parametrize(
    ("text", "at_least"),
    [
        ("417.05", 417.05),
        ("1_000.5", 1000.5),
        ("3.0", 3.0),
        ("1e23", 1e23),
        ("0.1000000000000000000001", Decimal("0.1000000000000000000001")),
        ("12345678901234567890.01", Decimal("12345678901234567890.01")),
    ],
)
def test_a_threshold_means_what_is_written(text: str, at_least: Number) -> None:
    rule = Rule.from_toml(
        f"[rule]\nname = 'r'\nopens = 'a'\nwithin = '1 s'\nuntil = {{ total = 'b', at_least = {text} }}\n"
    )
    assert rule.until == total("b", at_least=at_least)
    assert Rule.from_toml(rule.to_toml()) == rule


def test_a_decimal_that_is_as_well_a_float_is_the_same_threshold() -> None:
    assert total("b", at_least=Decimal("417.05")) == total("b", at_least=417.05)
    assert hash(reached("b", Decimal("2.50"))) == hash(reached("b", 2.5))
    with pytest.raises(RuleError, match="must be a finite number of at most 76 decimals"):
        total("b", at_least=Decimal("1e-77"))


def test_a_rule_is_written_as_one_would_write_it() -> None:
    until = all_of("paid", seen("ack", 3, "source"), n_of(1, reached("level", 0.5, by=2), total("fetch", at_least=9)))
    rule = Rule("order", "ordered", until, column("allowed"), per="each", columns={"key": "id"})
    assert rule.to_toml() == dedent("""\
        [rule]
        name = "order"
        opens = "ordered"
        per = "each"
        until = { all_of = ["paid", { seen = "ack", times = 3, distinct = "source" }, \
{ n_of = [{ reached = "level", at_least = 0.5, by = 2 }, { total = "fetch", of = "value", at_least = 9 }], n = 1 }] }
        within = { column = "allowed" }

        [columns]
        key = "id"
    """)


def rule_with(**settings: str) -> str:
    """A rule file of one setting a line: name on line 2, opens 3, within 4, then the others."""
    lines = {"name": '"r"', "opens": '"open"', "within": '"5 s"', **settings}
    return "[rule]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items() if value)


@pytest.mark.parametrize(
    ("until", "condition"),
    [
        ('"paid"', seen("paid")),
        ('{ seen = "ack" }', seen("ack")),
        ('{ seen = "ack", times = 3, distinct = "source" }', seen("ack", 3, "source")),
        ('{ total = "fetch", at_least = 1_000 }', total("fetch", at_least=1000)),
        ('{ total = "fetch", of = "bytes", at_least = 1.5 }', total("fetch", "bytes", at_least=1.5)),
        ('{ reached = "offset", at_least = -3, by = 2 }', reached("offset", -3, 2)),
        ('{ all_of = ["a", { any_of = ["b", "c"] }] }', all_of("a", any_of("b", "c"))),
        ('{ n_of = ["a", "b", "c"], n = 2 }', n_of(2, "a", "b", "c")),
        ("{ never = true }", never()),
    ],
)
def test_every_condition_has_its_form(until: str, condition: object) -> None:
    assert Rule.from_toml(rule_with(until=until)).until == condition


def test_conditions_may_stand_in_a_table_of_their_own() -> None:
    text = rule_with() + '[rule.until]\nall_of = [\n  "paid",\n  { seen = "ack", times = 2 },\n]\n'
    assert Rule.from_toml(text).until == all_of("paid", seen("ack", 2))


@pytest.mark.parametrize(
    ("within", "expected"),
    [("1500", 1500), ('{ column = "x" }', column("x")), ('{ until_column = "x" }', until_column("x"))],
)
def test_within_has_three_forms(within: str, expected: object) -> None:
    assert Rule.from_toml(rule_with(within=within)).within == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: there is no \[rule\]"),
        ("[rule]\nname = \n", "line 2: this is not TOML: Invalid value"),
        ('[rule]\nname = "a"\nname = "b"', "line 3: this is not TOML: Cannot overwrite a value"),
        ('rule = "x"', r"line 1: rule = 'x' is not a table; write \[rule\] on a line of its own"),
        ('[rule]\nname = "r"\nopens = "x"\n', r"line 1: \[rule\] has no within; needed are name, opens, within"),
        ('\n[ruel]\nname = "r"\n', "line 2: table 'ruel' is not known; allowed are rule, columns"),
        (rule_with(untill='"x"'), "line 5: setting 'untill' is not known; allowed are name, opens, per, until, within"),
        (rule_with(name='""'), "line 2: rule '': name='' must be a text that is not empty"),
        (rule_with(name="3"), "line 2: rule 3: name=3 must be a text"),
        (rule_with(opens="true"), "line 3: rule 'r': opens=True must be a text"),
        (
            rule_with(within='"5 parsecs"'),
            "line 4: rule 'r': within: duration '5 parsecs': 'parsecs' is not a unit; allowed",
        ),
        (rule_with(within="1.5"), "line 4: rule 'r': within: duration 1.5 is neither text"),
        (rule_with(within='{ colum = "x" }'), "line 4: rule 'r': within: {'colum': 'x'} is not known; allowed are"),
        (rule_with(per='"all"'), "line 5: rule 'r': per='all' is not known; allowed are \"first\" and \"each\""),
        (rule_with(cancels='"open"'), "line 5: rule 'r': cancels='open' is also what opens"),
        (rule_with(until='"x"', keeps_alive='"y"'), "line 6: rule 'r': keeps_alive='y' leaves no room for until"),
        (rule_with(until='["a", "b"]'), r"line 5: until: \['a', 'b'\] is not a condition; allowed are \"a kind\" and"),
        (rule_with(until='{ sene = "x" }'), "line 5: until: {'sene': 'x'} is not a condition; allowed is a table with"),
        (rule_with(until='{ seen = "x", total = "y" }'), "line 5: until: .* is not a condition"),
        (
            rule_with(until='{ seen = "x", time = 3 }'),
            "line 5: until: seen: option 'time' is not known; allowed are: times",
        ),
        (
            rule_with(until='{ all_of = ["x"], n = 1 }'),
            "line 5: until: all_of: option 'n' is not known; allowed are: none",
        ),
        (rule_with(until='{ total = "x" }'), "line 5: until: total = 'x' has no at_least, the number it waits for"),
        (
            rule_with(until='{ reached = "x", at_least = "1" }'),
            r"line 5: until: reached\('x'\): at_least='1' must be a",
        ),
        (
            rule_with(until='{ n_of = ["x"] }'),
            "line 5: until: n_of has no n, the number of parts that must hold, from 1 to 1",
        ),
        (rule_with(until='{ n_of = ["x"], n = 2 }'), "line 5: until: n_of: n=2 must be a whole number from 1 to 1"),
        (rule_with(until='{ any_of = "x" }'), r'line 5: until: any_of = \'x\' is not a list; write any_of = \["paid"'),
        (rule_with(until="{ all_of = [] }"), r"line 5: until: all_of\(\) needs at least one part"),
        (rule_with(until="{ all_of = [3] }"), "line 5: until: 3 is not a condition"),
        (rule_with(until="{ never = false }"), "line 5: until: never = False says nothing; allowed is true"),
        (
            rule_with() + "[columns]\nid = 'x'\n",
            "line 6: column 'id' is not known; allowed are key, kind, at, source, value",
        ),
        (rule_with() + "[columns]\nkey = 'x'\nat = 7\n", "line 7: column at=7 must be a text"),
        ("columns = 3\n" + rule_with(), "line 1: columns = 3 is not a table"),
        (rule_with() + "[columns]\nname = 'x'\n", "line 6: column 'name' is not known"),
        ("[[rule]]\nname = 'x'\n", "line 1: rule = .* is not a table"),
        ("rule = { name = 'r', opens = 'x', within = 'soon' }", "line 1: rule 'r': within: duration 'soon'"),
        ("rule.name = 'r'\nrule.opens = 'x'\nrule.within = 'soon'", "line 3: rule 'r': within: duration 'soon'"),
    ],
)
def test_an_error_names_the_line_the_value_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(RuleError, match=f"^{message}"):
        Rule.from_toml(text)


def test_an_error_inside_a_condition_of_many_lines_names_its_own_line() -> None:
    until = '{ all_of = [\n  "paid",\n  { seen = "ack", times = 0 },\n  { reached = "x", at_least = 1, by = 2 },\n] }'
    with pytest.raises(RuleError, match=r"^line 7: until: seen\('ack'\): times=0 must be"):
        Rule.from_toml(rule_with(until=until, cancels='"stop"  # times = 3'))


def test_where_two_lines_could_be_meant_the_error_names_the_start_of_the_condition() -> None:
    until = '{ all_of = [\n  { seen = "a", times = 2 },\n  { seen = "b", times = 0 },\n] }'
    with pytest.raises(RuleError, match=r"^line 5: until: seen\('b'\): times=0 must be"):
        Rule.from_toml(rule_with(until=until))


def test_an_error_in_a_table_of_its_own_names_its_line() -> None:
    with pytest.raises(RuleError, match=r"^line 7: until: seen\('ack'\): times=0 must be"):
        Rule.from_toml(rule_with() + '[rule.until]\nseen = "ack"\ntimes = 0\n[columns]\nkey = "times"\n')
