"""Batches: one line each, an answer per line, in order; and many callers at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from service.scene import Scene, in_service
from sojourn.service.routes.atomic import MOST_LINES
from sojourn.service.settings import Limits


async def lines(scene: Scene, *entries: Any, query: str = "") -> list[dict[str, Any]]:
    body = "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries)
    answer = await scene.ask("POST", f"/v1/batch{query}", body)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def wait(wait_id: str, **more: Any) -> dict[str, Any]:
    return {"wait": {"id": wait_id, "key": wait_id, "until": "paid", "within": "1 h", **more}}


@in_service()
async def test_each_line_has_its_answer_in_order_and_a_refused_one_harms_no_other(scene: Scene) -> None:
    answers = await lines(
        scene,
        {"rule": {"name": "r", "until": "paid", "within": "2 h"}},
        wait("a"),
        wait("b"),
        wait("a", key="other"),
        wait("c", within="soon"),
        "not JSON",
        {"wait": {"key": "d", "rule": "r"}},
        wait("a"),
        {"signal": {"key": "a", "kind": "paid"}},
        {"extend": {"id": "b", "within": "3 h"}},
        {"extend": {"id": "a", "within": "3 h"}},
        {"cancel": {"id": "b"}},
        {"cancel": {"id": "nobody"}},
        {"dance": {}},
        {"signal": {}, "cancel": {}},
    )
    statuses = [201, 201, 201, 409, 422, 400, 201, 200, 200, 200, 409, 200, 404, 422, 422]
    assert [answer["status"] for answer in answers] == statuses
    assert answers[8]["body"] == {"completed": 1}
    assert answers[10]["body"]["outcome"]["outcome"] == "completed"
    assert answers[11]["body"]["ended_by_this"] is True
    assert answers[11]["body"]["wait"]["status"] == "cancelled"


@in_service()
async def test_the_answer_to_a_line_is_that_of_a_request_of_its_own(scene: Scene) -> None:
    (answer,) = await lines(scene, wait("a", payload=[1]))
    assert answer["body"] == (await scene.ask("GET", "/v1/waits/a")).json()


@in_service()
async def test_a_brief_answer_has_the_status_only(scene: Scene) -> None:
    answers = await lines(scene, wait("a"), wait("a"), "nonsense", query="?brief=true")
    assert [answer["status"] for answer in answers] == [201, 200, 400]
    assert "body" not in answers[0]


@in_service()
async def test_many_lines_of_the_same_condition_are_one_record(scene: Scene) -> None:
    before = scene.service.hub._engine.log.written_bytes
    await lines(scene, *(wait(f"w{i}") for i in range(1_000)))
    assert scene.service.hub._engine.log.written_bytes - before < 25_000
    assert scene.service.hub.pending == 1_000


@in_service()
async def test_an_empty_batch_has_no_answers(scene: Scene) -> None:
    assert await lines(scene) == []
    assert await lines(scene, "", "  ") == []


@in_service()
async def test_callers_at_the_same_moment_have_answers_of_their_own(scene: Scene) -> None:
    body = {"key": "k", "until": "paid", "within": "1 h"}
    asked = [
        scene.ask("PUT", "/v1/waits/a", body),
        scene.ask("PUT", "/v1/waits/a", body),
        scene.ask("PUT", "/v1/waits/a", {**body, "key": "other"}),
        scene.ask("PUT", "/v1/waits/b", {**body, "within": "2 h"}),
        scene.ask("PUT", "/v1/waits/c", {**body, "rule": "nobody", "until": None, "within": None}),
        scene.ask("PUT", "/v1/waits/d", body),
    ]
    answers = await asyncio.gather(*asked)
    assert [answer.status_code for answer in answers] == [201, 200, 409, 201, 422, 201]


async def atomic(scene: Scene, *entries: Any, query: str = "") -> tuple[int, Any]:
    """The status, and the answers or the problem."""
    body = "\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in entries)
    answer = await scene.ask("POST", f"/v1/batch?atomic=true{query}", body)
    is_refused = answer.status_code >= 400
    return answer.status_code, answer.json() if is_refused else [json.loads(one) for one in answer.text.splitlines()]


@in_service()
async def test_an_atomic_batch_opens_all_its_waits_as_one_record(scene: Scene) -> None:
    status, answers = await atomic(scene, wait("a", payload=[1]), wait("b"), wait("a", payload=[1]))
    assert (status, [answer["status"] for answer in answers]) == (200, [201, 201, 200])
    assert answers[0]["body"] == (await scene.ask("GET", "/v1/waits/a")).json()


@in_service()
async def test_an_atomic_batch_said_again_is_the_same(scene: Scene) -> None:
    entries = [wait("a"), wait("b")]
    await atomic(scene, *entries)
    assert await atomic(scene, *entries, query="&brief=true") == (200, [{"status": 200}] * 2)
    assert scene.service.hub.pending == 2


@in_service()
async def test_where_a_line_of_an_atomic_batch_is_refused_nothing_is_carried_out(scene: Scene) -> None:
    await lines(scene, {"rule": {"name": "r", "until": "paid", "within": "2 h"}}, wait("taken"))
    before = scene.service.hub._engine.log.written_bytes
    for status, line, entries in (
        (409, None, [wait("a"), wait("taken", key="other"), wait("b")]),
        (409, None, [wait("a"), wait("a", key="other")]),
        (422, 2, [wait("a"), wait("b", within="soon")]),
        (422, 3, [wait("a"), wait("b"), wait("c", until="packed")]),
        (422, 2, [wait("a"), {"wait": {"id": "b", "key": "b", "rule": "r"}}]),
        (422, None, [{"wait": {"id": "b", "key": "b", "rule": "nobody"}}]),
        (422, 2, [wait("a"), {"signal": {"key": "k", "kind": "paid"}}]),
        (422, 1, [{"cancel": {"id": "taken"}}]),
        (400, 2, [wait("a"), "not JSON"]),
    ):
        found, problem = await atomic(scene, *entries)
        assert (found, problem.get("line")) == (status, line), problem
    assert scene.service.hub.pending == 1
    assert scene.service.hub._engine.log.written_bytes == before


@in_service(limits=Limits(pending=2))
async def test_an_atomic_batch_beyond_the_limit_of_waits_opens_none(scene: Scene) -> None:
    assert (await atomic(scene, *(wait(f"w{i}") for i in range(3))))[0] == 429
    assert scene.service.hub.pending == 0


@in_service()
async def test_signals_of_an_atomic_batch_have_one_answer_and_all_count_or_none(scene: Scene) -> None:
    await lines(scene, wait("a"), wait("b"), wait("c", until={"total": "coin", "at_least": 10}))
    paid = [{"signal": {"key": key, "kind": "paid", "id": f"p-{key}"}} for key in "ab"]
    unreadable = {"signal": {"key": "c", "kind": "coin"}}
    assert (await atomic(scene, *paid, unreadable))[0] == 422
    assert scene.service.hub.pending == 3
    assert await atomic(scene, *paid) == (200, [{"status": 200, "body": {"completed": 2}}])
    assert await atomic(scene, *paid) == (200, [{"status": 200, "body": {"completed": 0}}])


@in_service()
async def test_an_atomic_batch_has_a_limit_of_lines(scene: Scene) -> None:
    status, problem = await atomic(scene, *(["{}"] * (MOST_LINES + 1)))
    assert status == 413
    assert "at most 100,000" in problem["detail"]
    assert await atomic(scene) == (200, [])
