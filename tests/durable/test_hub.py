"""The verbs of a durable hub, in one process and across restarts."""

from __future__ import annotations

import copy
import pickle
import re
from decimal import Decimal
from typing import Any

import pytest

import sojourn as sj
from durable.scene import FUNDED, SHIPPED, WALL_MS, Scene
from sojourn.durable import Told
from sojourn.durable.log.segments import layout


def test_a_wait_survives_a_restart_and_completes(scene: Scene) -> None:
    scene.hub.register(SHIPPED)
    scene.hub.wait("order-17", rule="shipped", id="req-1", payload={"mail": "a@example.org"})
    assert scene.hub.signal("order-17", "paid") == 0
    hub = scene.reopen(down_ms=10)
    assert hub.explain("req-1") == "pending, 990 ms left: missing packed"
    assert hub.signal("order-17", "packed") == 1
    outcome = hub.get("req-1").result()  # type: ignore[union-attr]
    assert isinstance(outcome, Told)
    assert (outcome.number, outcome.operation_id, outcome.payload) == (1, "req-1", {"mail": "a@example.org"})
    assert (outcome.outcome, outcome.at, outcome.decided_by) == ("completed", WALL_MS + 10, "packed")
    scene.check()


def test_a_wait_expires_at_its_deadline_and_never_before(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100, callback=scene.note)
    scene.clock.advance(100)
    assert not wait.done()
    scene.clock.advance(1)
    assert (wait.outcome, wait.at, scene.told) == ("expired", WALL_MS + 100, [wait.id])


def test_a_signal_at_the_last_instant_counts(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    scene.clock.advance(100)
    assert scene.hub.signal("k", "paid") == 1
    assert wait.outcome == "completed"


def test_what_fell_due_while_nobody_ran_expires_at_its_own_deadline(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100, id="w")
    hub = scene.reopen(down_ms=5_000)
    (outcome,) = hub.outcomes()
    assert (outcome.outcome, outcome.at) == ("expired", WALL_MS + 100)
    scene.check()


def test_the_same_wait_again_is_the_same_wait_also_after_its_end(scene: Scene) -> None:
    first = scene.hub.wait("k", "paid", 100, id="w", payload=[1])
    assert scene.hub.wait("k", "paid", 100, id="w", payload=[1]) is first
    hub = scene.reopen()
    assert hub.wait("k", "paid", 100, id="w", payload=[1]).opened_at == first.opened_at
    hub.signal("k", "paid")
    hub = scene.reopen()
    again = hub.wait("k", "paid", 100, id="w", payload=[1])
    assert again.done()
    assert again.result().number == 1
    assert hub.pending == 0


@pytest.mark.parametrize(
    "other",
    [
        {"key": "other"},
        {"until": "packed"},
        {"within": 99},
        {"payload": [2]},
        {"payload": [True]},
        {"payload": [1.0]},
        {"key": ["k", "other"]},
    ],
)
def test_another_wait_under_a_known_id_is_refused(scene: Scene, other: dict[str, Any]) -> None:
    same: dict[str, Any] = {"key": "k", "until": "paid", "within": 100, "payload": [1]}
    scene.hub.wait(**same, id="w")
    with pytest.raises(sj.IdTakenError, match="'w' belongs to another wait"):
        scene.hub.wait(**same | other, id="w")
    assert scene.hub.pending == 1
    scene.check()


@pytest.mark.parametrize("number", ["#²", "#99999999999999999999", "#" + "9" * 5_000], ids=["²", "beyond", "long"])
def test_a_number_that_no_wait_can_have_is_that_of_none(number: str) -> None:
    scene = Scene(memory=0)
    scene.hub.wait("k", "paid", 100)
    assert scene.hub.get(number) is None
    assert sj.durable.Reader(scene.files, scene.clock).get(number) is None


def test_ids_are_forgotten_in_time() -> None:
    scene = Scene(remember_ids=1_000)
    scene.hub.wait("k", "paid", 10, id="w")
    scene.hub.signal("k", "paid", id="s")
    scene.clock.advance(2_000)
    scene.hub.wait("k", "paid", 10)
    assert scene.hub.signal("k", "paid", id="t") == 1
    assert scene.hub.get("w") is None
    scene.hub.wait("k", "paid", 10)
    assert scene.hub.signal("k", "paid", id="s") == 1
    scene.check()


def test_a_signal_with_an_id_counts_once_also_across_a_restart(scene: Scene) -> None:
    scene.hub.wait("k", sj.seen("ack", times=2), 1_000)
    assert scene.hub.signal("k", "ack", id="e1") == 0
    assert scene.hub.signal("k", "ack", id="e1") == 0
    hub = scene.reopen()
    assert hub.signal_many([("k", "ack"), ("k", "ack")], ids=["e1", "e1"]) == 0
    assert hub.signal("k", "ack", id="e2") == 1
    scene.check()


def test_waits_in_one_call_may_share_an_id_only_if_they_are_the_same(scene: Scene) -> None:
    first, second, third = scene.hub.wait_many(["a", "a", "b"], "paid", 10, ids=["x", "x", None])
    assert first is second
    assert (third is first, scene.hub.pending) == (False, 2)
    with pytest.raises(sj.IdTakenError):
        scene.hub.wait_many(["a", "b"], "paid", 10, ids=["y", "y"])
    with pytest.raises(sj.IdTakenError):
        scene.hub.wait_many(["a", "a"], "paid", 10, ids=["y", "y"], payloads=[1, True])
    assert scene.hub.pending == 2
    scene.check()


def test_a_wait_on_many_keys_hears_each_and_leaves_all(scene: Scene) -> None:
    scene.hub.wait(["a", "b"], sj.all_of("paid", "packed"), 100)
    assert scene.hub.signal("a", "paid") == 0
    assert [wait.keys for wait in scene.hub.list("b")] == [("a", "b")]
    assert scene.hub.signal("b", "packed") == 1
    assert scene.hub.list("a") == scene.hub.list("b") == []


def test_extend_moves_the_deadline_for_good(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100, id="w")
    assert scene.hub.extend("w", 500)
    assert wait.extend(400)
    hub = scene.reopen(down_ms=300)
    assert hub.get("w").deadline == WALL_MS + 400  # type: ignore[union-attr]
    scene.clock.advance(101)
    assert not hub.extend("w", 10)
    scene.check()


def test_cancel_tells_exactly_one_caller(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    assert wait.cancel()
    assert not scene.hub.cancel(wait)
    assert (wait.outcome, wait.decided_by) == ("cancelled", "cancel")
    assert not scene.hub.cancel("nobody")


def test_a_cancelling_signal_ends_a_wait_when_its_instant_is_over(scene: Scene) -> None:
    wait = scene.hub.wait("k", rule=SHIPPED)
    scene.hub.signal("k", "paid")
    scene.hub.signal("k", "void")
    assert not wait.done()
    assert scene.reopen().signal("k", "packed") == 1  # the same instant: completed goes first
    scene.check()


def test_remembered_signals_are_for_waits_that_come_later_also_after_a_restart() -> None:
    scene = Scene(remember=1_000)
    scene.hub.signal("k", "paid", "s", Decimal("1.50"))
    hub = scene.reopen(down_ms=500)
    assert hub.stats().remembered == 1
    assert hub.wait("k", "paid", 100).done()
    scene.clock.advance(600)
    assert not hub.wait("k", "paid", 100).done()
    scene.check()


def test_exact_values_survive(scene: Scene) -> None:
    scene.hub.wait("k", sj.total("coin", at_least=Decimal("0.3")), 100)
    scene.hub.signal("k", "coin", value=Decimal("0.1"))
    hub = scene.reopen()
    assert hub.signal("k", "coin", value=Decimal("0.2")) == 1


@pytest.mark.usefixtures("in_memory")  # to bring a wait in may need a segment
def test_a_signal_that_a_rule_cannot_read_is_refused_before_anything_is_written(scene: Scene) -> None:
    scene.hub.wait("k", rule=FUNDED)
    before = len(scene.files.journal)
    with pytest.raises(sj.RuleError, match="no value on 'coin'"):
        scene.hub.signal_many([("k", "coin", None, 3), ("k", "coin")])
    assert len(scene.files.journal) == before


def test_bulk_cancel_is_one_record_and_says_first_how_many(scene: Scene) -> None:
    scene.hub.register(SHIPPED)
    scene.hub.wait_many([f"test-{i}" for i in range(5)], rule="shipped")
    scene.hub.wait("real", rule="shipped")
    assert scene.hub.cancel_where(rule="shipped", key_prefix="test-", dry_run=True) == 5
    assert scene.hub.pending == 6
    assert scene.hub.cancel_where(rule="shipped", key_prefix="test-") == 5
    assert [outcome.outcome for outcome in scene.hub.outcomes()] == ["cancelled"] * 5
    assert scene.hub.cancel_where(rule="nobody's") == 0
    scene.check()


def test_shift_gives_all_of_a_rule_more_time(scene: Scene) -> None:
    scene.hub.wait_many(["a", "b"], rule=SHIPPED)
    other = scene.hub.wait("c", "paid", 50)
    assert scene.hub.shift(rule="shipped", by="2 h", dry_run=True) == 2
    assert scene.hub.shift(rule="shipped", by="2 h") == 2
    assert {wait.deadline for wait in scene.hub.list(rule="shipped")} == {WALL_MS + 1_000 + 7_200_000}
    assert other.deadline == WALL_MS + 50
    scene.check()


def test_no_shift_is_longer_than_a_hundred_years(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 2**62 - 1)
    with pytest.raises(sj.RuleError, match="more than a hundred years"):
        scene.hub.shift(key_prefix="k", by=2**62 - 1)
    for _ in range(3):
        assert scene.hub.shift(key_prefix="k", by="36525 days") == 1
    found = scene.hub.get(wait.id)
    assert found is not None
    assert found.deadline < 2**63
    scene.check()


def test_a_rule_registered_again_is_for_the_waits_that_follow(scene: Scene) -> None:
    scene.hub.register(SHIPPED)
    old = scene.hub.wait("k", rule="shipped")
    scene.hub.register(sj.Rule("shipped", opens="order", until="paid", within=50))
    new = scene.reopen().wait("k", rule="shipped")
    assert scene.hub.signal("k", "paid") == 1
    assert (scene.hub.get(old.id).done(), new.done()) == (False, True)  # type: ignore[union-attr]
    scene.check()


def test_a_rule_that_nobody_registered_is_refused(scene: Scene) -> None:
    with pytest.raises(sj.RuleError, match="'shipped' is not registered"):
        scene.hub.wait("k", rule="shipped")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda hub: hub.wait(17, "paid", 1), "key=17 is not a text"),
        (lambda hub: hub.wait("k", "paid", 1, id=17), "id=17 is not a text"),
        (lambda hub: hub.wait("k", "paid", 1, id="#17"), "starts with '#'"),
        (lambda hub: hub.wait("k", "paid", 1, payload={1, 2}), "cannot be written as JSON"),
        (lambda hub: hub.wait("k", "paid", 1, payload="x" * 70_000), "70,002 bytes"),
        (lambda hub: hub.wait("k", "paid", 1, payload={1: "one", "1": "uno"}), "the key 1, which is not a text"),
        (lambda hub: hub.wait("k", "paid", 1, payload=({"a": [{None: 1}]},)), "the key None, which is not a text"),
        (lambda hub: hub.wait("k", "paid", 1, id=""), "id='' is empty"),
        (lambda hub: hub.wait("half-\ud800-way", "paid", 1), r"^text 'half-\\ud800-way' has half a surrogate pair"),
        (lambda hub: hub.get(5), "id=5 is not a text"),
        (lambda hub: hub.explain(5), "id=5 is not a text"),
        (lambda hub: hub.cancel(5), "id=5 is not a text"),
        (lambda hub: hub.extend(5, "1 h"), "id=5 is not a text"),
        (lambda hub: hub.signal("k", "paid", value=float("nan")), "not a finite number"),
        (lambda hub: hub.signal("k", "paid", value=Decimal("1e500")), "is too large: it has more than 308 digits"),
        (lambda hub: hub.signal("k", "paid", value=Decimal("1e-80")), "has more than 76 decimal places"),
        (lambda hub: hub.signal("k", "paid", source=1.5), "neither a text nor a whole number"),
        (lambda hub: hub.signal("k", 3), "must be a text"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(scene: Scene, call: Any, message: str) -> None:
    with pytest.raises(sj.NotStorableError, match=message):
        call(scene.hub)
    scene.check()


def test_a_text_is_taken_neither_for_keys_nor_for_a_signal(scene: Scene) -> None:
    scene.hub.wait_many(["a", "b"], "b", 10)
    with pytest.raises(ValueError, match=r"keys='abc' is one text; give a list of keys, as in \['abc'\]"):
        scene.hub.wait_many("abc", "paid", 10)
    for no_signal in ("ab", 5, ("a",), ("a", "b", "x", 1, 2)):
        with pytest.raises(TypeError, match=f"signal={re.escape(repr(no_signal))} is neither an Event nor"):
            scene.hub.signal_many([no_signal])  # type: ignore[list-item]
    assert scene.hub.pending == 2
    scene.check()


def test_what_json_has_too_is_a_payload(scene: Scene) -> None:
    payload = {"": None, "many": ({"a": 1.5}, [True, "x"])}
    kept = {"": None, "many": [{"a": 1.5}, [True, "x"]]}
    assert scene.hub.wait("k", "paid", 10, id="w", payload=payload).payload == kept
    assert scene.hub.wait("k", "paid", 10, id="w", payload=payload).payload == kept


def test_a_rule_by_its_name_is_that_name_also_once_it_says_something_else(scene: Scene) -> None:
    scene.hub.register(SHIPPED)
    wait = scene.hub.wait("k", rule="shipped", id="w")
    scene.hub.register(sj.Rule("shipped", opens="order", until="sent", within=5))
    assert scene.hub.wait("k", rule="shipped", id="w") is wait
    assert wait.within_ms == 1_000


def test_a_full_hub_refuses_more_waits() -> None:
    scene = Scene(max_pending=2)
    scene.hub.wait_many(["a", "b"], "paid", 10)
    with pytest.raises(sj.HubFullError, match="2 pending waits"):
        scene.hub.wait("c", "paid", 10)


def test_outcomes_are_numbered_without_gaps_across_restarts_and_segments() -> None:
    scene = Scene(segment_bytes=1_000)
    for i in range(40):
        scene.hub.wait(f"k{i}", "paid", 5)
        if i % 10 == 3:
            scene.reopen()
    scene.clock.advance(10)
    hub = scene.reopen()
    assert [outcome.number for outcome in hub.outcomes()] == list(range(1, 41))
    assert [outcome.number for outcome in hub.outcomes(after=37)] == [38, 39, 40]
    assert [outcome.key for outcome in hub.outcomes(after=38)] == ["k38", "k39"]
    scene.check()


def test_closing_leaves_waits_pending_and_calls_nobody(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100, callback=scene.note)
    assert scene.hub.close() == [wait]
    assert scene.told == []
    with pytest.raises(sj.PurgatoryClosedError, match="its waits are in the folder"):
        scene.hub.wait("k", "paid", 100)
    assert scene.open().pending == 1


def test_closing_may_cancel_what_is_pending(scene: Scene) -> None:
    scene.hub.wait_many(["a", "b"], "paid", 100)
    assert len(scene.hub.close(cancel_pending=True)) == 2
    assert [outcome.outcome for outcome in scene.open().outcomes()] == ["cancelled", "cancelled"]


def test_a_callback_may_signal_and_its_error_reaches_the_handler() -> None:
    errors: list[Any] = []
    scene = Scene(on_error=lambda wait, error: errors.append((wait.id, error)))
    last = scene.hub.wait("b", "go", 100)

    def pass_on(wait: Any) -> None:
        scene.hub.signal("b", "go")
        raise KeyError("oops")

    scene.hub.wait("a", "go", 100, callback=pass_on)
    scene.hub.signal("a", "go")
    assert last.done()
    assert [wait_id for wait_id, _ in errors] == ["#2"]


def test_a_herd_is_told_in_portions_and_a_snapshot_knows_who_was_not() -> None:
    scene = Scene(segment_bytes=50_000)
    scene.hub.wait_many([f"k{i}" for i in range(25_000)], "paid", 100)
    assert scene.hub.cancel_where(key_prefix="k") == 25_000
    scene.hub.signal("nobody", "waits")
    assert scene.hub.stats().last_number < 25_000
    assert layout(scene.files).snapshots
    scene.check()
    scene.crash()
    hub = scene.open()
    scene.clock.advance(0)
    assert hub.stats().last_number == 25_000
    assert len({outcome.operation_id for outcome in hub.outcomes()}) == 25_000


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda told: pickle.loads(pickle.dumps(told))])
def test_an_outcome_that_was_told_can_be_copied_and_pickled(scene: Scene, copied: Any) -> None:
    scene.hub.wait("k", "paid", 100, payload={"a": [1]})
    scene.hub.signal("k", "paid")
    (told,) = scene.hub.outcomes()
    again = copied(told)
    assert (type(again), again, again.number, again.payload) == (type(told), told, 1, {"a": [1]})


def test_result_moves_a_manual_clock(scene: Scene) -> None:
    assert scene.hub.wait("k", "paid", 100).result().outcome == "expired"
    with pytest.raises(TimeoutError):
        scene.hub.wait("k", "paid", 10_000).result(timeout=1)
