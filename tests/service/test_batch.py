"""Batches: one line each, an answer per line, in order; and many callers at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from service.scene import Scene, in_service


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
