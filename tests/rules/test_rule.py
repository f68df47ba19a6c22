"""Rules as values and as sentences."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given

from rules.strategies import rules
from sojourn import RuleError
from sojourn.rules import Rule, all_of, column, never, seen, until_column

FINE = Rule("fine-paid", "Insert Fine Notification", "Payment", "60 days", cancels="Send Appeal")


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            FINE,
            "fine-paid: from the first Insert Fine Notification, until Payment, within 60 days, unless Send Appeal",
        ),
        (
            Rule("order", "ordered", all_of("paid", "packed"), "1h30m", per="each"),
            "order: from each ordered, until paid and packed, within 1h30m",
        ),
        (Rule("later", "sent", within=5000), "later: from the first sent, for 5 s"),
        (Rule("later", "sent", within=column("delay")), "later: from the first sent, within its delay"),
        (Rule("due", "sent", "paid", until_column("due_at")), "due: from the first sent, until paid, by its due_at"),
        (
            Rule("session", "join", within="30 s", keeps_alive="beat", cancels="leave"),
            "session: from the first join, as long as beat comes within 30 s, unless leave",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Rule) else "",
)
def test_a_rule_prints_as_a_sentence(rule: Rule, sentence: str) -> None:
    assert str(rule) == sentence


def test_the_same_rule_written_differently_is_the_same_rule() -> None:
    rule = Rule("r", "open", seen("paid"), timedelta(hours=1.5))
    assert rule == Rule("r", "open", "paid", "90 min") == Rule("r", opens="open", until="paid", within=5_400_000)
    assert hash(rule) == hash(Rule("r", "open", "paid", "90 min"))
    assert Rule("r", "open", within=5) == Rule("r", "open", never(), 5)


def test_every_setting_makes_a_difference() -> None:
    different = [
        Rule("r", "open", "paid", 5),
        Rule("q", "open", "paid", 5),
        Rule("r", "start", "paid", 5),
        Rule("r", "open", "packed", 5),
        Rule("r", "open", "paid", 6),
        Rule("r", "open", "paid", 5, per="each"),
        Rule("r", "open", "paid", 5, cancels="stop"),
        Rule("r", "open", within=5),
        Rule("r", "open", within=5, keeps_alive="beat"),
        Rule("r", "open", "paid", column("x")),
        Rule("r", "open", "paid", until_column("x")),
        Rule("r", "open", "paid", 5, columns={"key": "id"}),
    ]
    assert len(set(different)) == len(different)


@given(rules)
def test_rules_can_be_pickled_copied_and_evaluated_from_their_repr(rule: Rule) -> None:
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hash(pickle.loads(pickle.dumps(rule))) == hash(rule)
    assert copy.deepcopy(rule) == rule
    assert eval(repr(rule), vars(__import__("sojourn.rules").rules)) == rule


def test_rules_are_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        FINE.within = 3  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        FINE.note = "x"  # type: ignore[attr-defined]


def test_columns_are_kept_in_the_order_of_the_design() -> None:
    rule = Rule("r", "open", "paid", 5, columns={"at": "timestamp", "key": "case_id"})
    assert rule.columns == (("key", "case_id"), ("at", "timestamp"))


def make(**changed: Any) -> Callable[[], Rule]:
    return lambda: Rule(**{"name": "r", "opens": "open", "until": "paid", "within": 5, **changed})


@pytest.mark.parametrize(
    ("make", "message", "field"),
    [
        (make(name=""), "rule '': name='' must be a text that is not empty", "name"),
        (make(name=7), "rule 7: name=7 must be a text that is not empty", "name"),
        (make(name="a/b"), "rule 'a/b': the name must not contain '/'", "name"),
        (make(opens=None), "rule 'r': opens=None must be a text that is not empty", "opens"),
        (make(until=3), "rule 'r': until: 3 is not a condition; allowed are the name of a kind", "until"),
        (make(until=""), "rule 'r': until: seen='' must be a text", "until"),
        (make(within=None), "rule 'r': within: is missing; give a duration such as \"60 days\"", "within"),
        (
            make(within="60 dayz"),
            "rule 'r': within: duration '60 dayz': 'dayz' is not a unit; allowed",
            "within",
        ),
        (
            make(within={"colum": "x"}),
            r"within: {'colum': 'x'} is not known; allowed are a duration",
            "within",
        ),
        (make(within={"column": "x", "until_column": "y"}), "is not known; allowed are a duration", "within"),
        (make(within={"column": ""}), "within: column='' must be a text", "within"),
        (make(per="all"), "rule 'r': per='all' is not known; allowed are \"first\" and \"each\"", "per"),
        (make(cancels=""), "rule 'r': cancels='' must be a text", "cancels"),
        (
            make(cancels="open"),
            "rule 'r': cancels='open' is also what opens: each operation would cancel itself",
            "cancels",
        ),
        (make(keeps_alive=1), "rule 'r': keeps_alive=1 must be a text", "keeps_alive"),
        (make(columns={"id": "x"}), "column 'id' is not known; allowed are key, kind, at, source, value", "id"),
        (make(columns={"key": 3}), "column key=3 must be a text", "key"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_the_value_and_what_is_allowed(
    make: Callable[[], Rule], message: str, field: str
) -> None:
    with pytest.raises(RuleError, match=message) as caught:
        make()
    assert caught.value.field == field
    assert isinstance(caught.value, ValueError)
