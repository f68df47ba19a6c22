"""Waits over HTTP: opened, read, extended, cancelled, listed."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

from service.scene import Scene, in_service

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}


@in_service()
async def test_a_wait_is_new_once_then_the_same_and_another_one_is_refused(scene: Scene) -> None:
    first = await scene.ask("PUT", "/v1/waits/a", PAID)
    again = await scene.ask("PUT", "/v1/waits/a", PAID)
    other = await scene.ask("PUT", "/v1/waits/a", {**PAID, "key": "order-2"})
    assert [first.status_code, again.status_code, other.status_code] == [201, 200, 409]
    assert first.json() == again.json()
    assert (first.json()["status"], first.json()["missing"], first.json()["rule"]) == ("pending", "paid", None)
    assert first.json()["deadline"] - first.json()["opened_at"] == 1_800_000


@in_service()
async def test_what_put_answers_is_what_get_says(scene: Scene) -> None:
    bodies = [
        {
            "key": "k",
            "until": {"all_of": ["a", {"seen": "b", "times": 2}]},
            "within": "1 h",
            "payload": {"x": ["é", None]},
        },
        {"keys": ["k", 'q"\n'], "until": {"reached": "level", "at_least": 3.5, "by": 2}, "within": 5000},
        {"key": "", "within": "1 day"},
    ]
    for i, body in enumerate(bodies):
        put = await scene.ask("PUT", f"/v1/waits/w{i}", body)
        assert put.status_code == 201, put.text
        assert put.json() == (await scene.ask("GET", f"/v1/waits/w{i}")).json()


@in_service()
async def test_an_id_may_be_any_text_that_fits_a_path(scene: Scene) -> None:
    for wait_id in ("a/b", "ä ö", "100%", "a?b#c", "x;y=1"):
        path = "/v1/waits/" + quote(wait_id, safe="")
        assert (await scene.ask("PUT", path, PAID)).json()["id"] == wait_id
        assert (await scene.ask("GET", path)).json()["id"] == wait_id
        assert "pending" in (await scene.ask("GET", path + "/explain")).json()["text"]


@in_service()
async def test_a_number_that_no_wait_can_have_is_not_found(scene: Scene) -> None:
    for number in ("#²", "#99999999999999999999", "#" + "9" * 5_000):
        answer = await scene.ask("GET", "/v1/waits/" + quote(number, safe=""))
        assert answer.status_code == 404, answer.text


@in_service()
async def test_posting_makes_an_id_under_which_the_wait_is_found_when_it_has_ended(scene: Scene) -> None:
    made = (await scene.ask("POST", "/v1/waits", PAID)).json()
    assert (await scene.ask("POST", "/v1/signals", {"key": "order-1", "kind": "paid"})).json() == {"completed": 1}
    found = (await scene.ask("GET", f"/v1/waits/{made['id']}")).json()
    assert (found["status"], found["outcome"]["number"], found["outcome"]["decided_by"]) == ("completed", 1, "paid")


@in_service()
async def test_a_wait_expires_at_its_deadline_and_not_before(scene: Scene) -> None:
    opened = (await scene.ask("PUT", "/v1/waits/a", PAID)).json()
    await scene.advance("30 min")
    assert (await scene.ask("GET", "/v1/waits/a")).json()["status"] == "pending"
    await scene.advance("1 ms")
    ended = (await scene.ask("GET", "/v1/waits/a")).json()
    assert (ended["status"], ended["outcome"]["at"]) == ("expired", opened["deadline"])


@in_service()
async def test_asking_with_wait_answers_when_the_wait_has_ended(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", PAID)
    asking = asyncio.create_task(scene.ask("GET", "/v1/waits/a?wait=30s"))
    while not scene.service.hub.get("a")._callbacks:  # type: ignore[union-attr]
        await asyncio.sleep(0)
    await scene.ask("POST", "/v1/signals", {"key": "order-1", "kind": "paid"})
    assert (await asking).json()["status"] == "completed"


@in_service()
async def test_asking_with_wait_answers_with_what_there_is_when_the_service_stops(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", PAID)
    asking = asyncio.create_task(scene.ask("GET", "/v1/waits/a?wait=30s"))
    while not scene.service.hub.get("a")._callbacks:  # type: ignore[union-attr]
        await asyncio.sleep(0)
    scene.service.drain()
    assert (await asking).json()["status"] == "pending"
    assert (await scene.ask("GET", "/readyz")).status_code == 503


@in_service()
async def test_a_deadline_can_be_moved_until_the_wait_has_ended(scene: Scene) -> None:
    opened = (await scene.ask("PUT", "/v1/waits/a", PAID)).json()
    moved = await scene.ask("PATCH", "/v1/waits/a", {"within": "2 h"})
    assert moved.json()["deadline"] == opened["opened_at"] + 7_200_000
    await scene.ask("POST", "/v1/signals", {"key": "order-1", "kind": "paid"})
    late = await scene.ask("PATCH", "/v1/waits/a", {"within": "2 h"})
    assert (late.status_code, late.json()["outcome"]["outcome"]) == (409, "completed")
    assert (await scene.ask("PATCH", "/v1/waits/b", {"within": "2 h"})).status_code == 404


@in_service()
async def test_exactly_one_of_those_who_cancel_is_told_that_it_did(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", PAID)
    answers = [(await scene.ask("DELETE", "/v1/waits/a")).json() for _ in range(2)]
    assert [answer["ended_by_this"] for answer in answers] == [True, False]
    assert answers[0]["wait"] == answers[1]["wait"]
    assert answers[0]["wait"]["outcome"]["outcome"] == "cancelled"
    assert (await scene.ask("DELETE", "/v1/waits/b")).status_code == 404


@in_service()
async def test_pages_have_every_pending_wait_once(scene: Scene) -> None:
    for i in range(25):
        await scene.ask("PUT", f"/v1/waits/w{i}", {**PAID, "key": f"order-{i % 3}"})
    found, after = [], 0
    while after is not None:
        page = (await scene.ask("GET", f"/v1/waits?limit=10&after={after}")).json()
        found += [wait["id"] for wait in page["waits"]]
        after = page["next"]
    assert found == [f"w{i}" for i in range(25)]
    on_key = (await scene.ask("GET", "/v1/waits?key=order-1")).json()
    assert [wait["id"] for wait in on_key["waits"]] == [f"w{i}" for i in range(25) if i % 3 == 1]
    prefixed = (await scene.ask("GET", "/v1/waits?key_prefix=order-2&limit=2")).json()
    assert [wait["id"] for wait in prefixed["waits"]] == ["w2", "w5"]


@in_service()
async def test_waits_are_found_by_rule_and_by_deadline(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/rules/shipped", {"until": "sent", "within": "2 days"})
    await scene.ask("PUT", "/v1/waits/a", PAID)
    opened = (await scene.ask("PUT", "/v1/waits/b", {"key": "order-1", "rule": "shipped"})).json()
    by_rule = (await scene.ask("GET", "/v1/waits?rule=shipped")).json()
    assert [wait["id"] for wait in by_rule["waits"]] == ["b"]
    due = (await scene.ask("GET", f"/v1/waits?due_before={opened['deadline']}")).json()
    assert [wait["id"] for wait in due["waits"]] == ["a"]


@in_service()
async def test_many_are_cancelled_or_shifted_at_once_or_only_counted(scene: Scene) -> None:
    for i in range(4):
        await scene.ask("PUT", f"/v1/waits/w{i}", {**PAID, "key": f"order-{i}"})
    where = {"key_prefix": "order-"}
    assert (await scene.ask("POST", "/v1/waits:shift", {**where, "by": "1 h", "dry_run": True})).json() == {"count": 4}
    assert (await scene.ask("POST", "/v1/waits:shift", {"key_prefix": "order-1", "by": "1 h"})).json() == {"count": 1}
    assert (await scene.ask("POST", "/v1/waits:cancel", {**where, "dry_run": True})).json() == {"count": 4}
    assert (await scene.ask("POST", "/v1/waits:cancel", where)).json() == {"count": 4}
    assert (await scene.ask("POST", "/v1/waits:cancel", where)).json() == {"count": 0}
    assert (await scene.ask("POST", "/v1/waits:cancel", {})).status_code == 422


@in_service()
async def test_a_rule_with_pending_waits_is_not_replaced_by_another_one(scene: Scene) -> None:
    rule = {"until": "sent", "within": "2 days"}
    other = {**rule, "within": "3 days"}
    assert (await scene.ask("PUT", "/v1/rules/shipped", rule)).status_code == 201
    assert (await scene.ask("PUT", "/v1/rules/shipped", rule)).status_code == 200
    assert (await scene.ask("PUT", "/v1/rules/shipped", other)).status_code == 200
    await scene.ask("PUT", "/v1/waits/a", {"key": "k", "rule": "shipped"})
    assert (await scene.ask("PUT", "/v1/rules/shipped", rule)).status_code == 409
    assert (await scene.ask("PUT", "/v1/rules/shipped?replace=true", rule)).status_code == 200
    assert (await scene.ask("GET", "/v1/rules/shipped")).json()["within"] == "2 days"
    assert (await scene.ask("GET", "/v1/waits/a")).json()["within_ms"] == 3 * 86_400_000


@in_service()
async def test_a_rule_file_is_taken_as_it_is(scene: Scene) -> None:
    toml = '[rule]\nname = "shipped"\nopens = "order"\nuntil = { all_of = ["paid", "packed"] }\nwithin = "2 days"\n'
    answer = await scene.ask("PUT", "/v1/rules/shipped", toml, headers={"content-type": "application/toml"})
    assert (answer.status_code, answer.json()["until"]) == (201, {"all_of": ["paid", "packed"]})
    broken = await scene.ask("PUT", "/v1/rules/shipped", toml.replace("2 days", "soon"))
    assert (broken.status_code, "line 5" in broken.json()["detail"]) == (422, True)
    assert (await scene.ask("PUT", "/v1/rules/other", toml)).json()["field"] == "name"
    assert [rule["name"] for rule in (await scene.ask("GET", "/v1/rules")).json()["rules"]] == ["shipped"]


@in_service()
async def test_a_signal_with_an_id_counts_once(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", {"key": "k", "until": {"seen": "ack", "times": 2}, "within": "1 h"})
    for _ in range(3):
        await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "ack", "id": "s1"})
    assert (await scene.ask("GET", "/v1/waits/a")).json()["missing"] == "1 of 2 ack"
    assert (await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "ack"})).json() == {"completed": 1}


@in_service()
async def test_a_value_as_a_text_is_taken_exactly(scene: Scene) -> None:
    until = {"total": "paid", "at_least": 0.3}
    await scene.ask("PUT", "/v1/waits/a", {"key": "k", "until": until, "within": "1 h"})
    for value in ("0.1", "0.2"):
        answer = await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "paid", "value": value})
    assert answer.json() == {"completed": 1}
    refused = await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "paid", "value": "much"})
    assert (refused.status_code, refused.json()["field"]) == (422, "value")


@in_service()
async def test_counts_by_rule_are_kept_up(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/rules/r", {"until": "x", "within": "1 h"})
    for i in range(6):
        await scene.ask("PUT", f"/v1/waits/w{i}", {"key": f"k{i}", "rule": "r"})
    await scene.ask("PUT", "/v1/waits/w0", {"key": "k0", "rule": "r"})
    await scene.ask("POST", "/v1/signals", {"key": "k0", "kind": "x"})
    await scene.ask("DELETE", "/v1/waits/w1")
    counts = (await scene.ask("GET", "/v1/stats")).json()["rules"]["r"]
    assert counts == {"pending": 4, "completed": 1, "expired": 0, "cancelled": 1}
    await scene.advance("2 h")
    stats = (await scene.ask("GET", "/v1/stats")).json()
    assert stats["rules"]["r"] == {"pending": 0, "completed": 1, "expired": 4, "cancelled": 1}
    assert (stats["pending"], stats["expired"]) == (0, 4)


@in_service(remember="1 h")
async def test_a_wait_that_comes_after_its_signal_is_answered_as_completed(scene: Scene) -> None:
    await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "paid"})
    for wait_id, until in (("one", "paid"), ("two", {"all_of": ["paid"]})):
        answer = await scene.ask("PUT", f"/v1/waits/{wait_id}", {"key": "k", "until": until, "within": "1 h"})
        assert (answer.status_code, answer.json()["status"]) == (201, "completed")
        assert answer.json() == (await scene.ask("GET", f"/v1/waits/{wait_id}")).json()
