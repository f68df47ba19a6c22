"""What is refused, with what answer: it names the field, what was given and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from service.scene import Scene, in_service, serving
from sojourn.service.settings import Limits

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}

BAD_WAITS = [
    ({"until": "paid", "within": "1 h"}, "key"),
    ({**PAID, "keys": ["a"]}, "key"),
    ({"keys": [], "within": "1 h"}, "keys"),
    ({"keys": [1], "within": "1 h"}, "keys"),
    ({"key": 5, "within": "1 h"}, "key"),
    ({"key": "k", "until": "paid"}, "within"),
    ({**PAID, "within": "soon"}, "within"),
    ({**PAID, "within": -1}, "within"),
    ({**PAID, "within": True}, "within"),
    ({**PAID, "within": 1e300}, "within"),
    ({**PAID, "until": {"some_of": []}}, "until"),
    ({**PAID, "until": {"all_of": []}}, "until"),
    ({**PAID, "until": 3}, "until"),
    ({**PAID, "until": {"seen": "x", "times": 0}}, "until"),
    ({**PAID, "until": {"total": "x"}}, "until"),
    ({**PAID, "rule": "r"}, "until"),
    ({"key": "k", "rule": 7}, "rule"),
    ({"key": "k", "rule": "unknown"}, "rule"),
    ({**PAID, "id": "another"}, "id"),
    ({**PAID, "colour": "blue"}, "colour"),
]


@pytest.mark.parametrize(("body", "field"), BAD_WAITS)
def test_a_bad_wait_is_refused_with_its_field(body: dict[str, object], field: str, tmp_path: object) -> None:
    @in_service()
    async def ask(scene: Scene) -> None:
        answer = await scene.ask("PUT", "/v1/waits/a", body)
        problem = answer.json()
        assert (answer.status_code, problem["field"]) == (422, field), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["request_id"] == answer.headers["x-request-id"]
        assert (await scene.ask("GET", "/v1/waits")).json()["waits"] == []

    ask(tmp_path)  # type: ignore[arg-type]


@in_service()
async def test_what_is_not_json_is_400(scene: Scene) -> None:
    for body in (b"", b"{", b'{"key": NaN}', b"\xff", b"[" * 100_000):
        answer = await scene.ask("PUT", "/v1/waits/a", body)
        assert (answer.status_code, answer.json()["title"]) == (400, "not JSON")
    assert (await scene.ask("PUT", "/v1/waits/a", [])).status_code == 422


@in_service()
async def test_a_condition_in_a_condition_without_end_is_refused(scene: Scene) -> None:
    until: object = "paid"
    for _ in range(200):
        until = {"all_of": [until]}
    assert (await scene.ask("PUT", "/v1/waits/a", {**PAID, "until": until})).status_code == 422
    assert (await scene.ask("PUT", "/v1/rules/r", {"within": "1 h", "until": until})).status_code == 422


@in_service()
async def test_what_a_log_cannot_keep_is_refused(scene: Scene) -> None:
    half = b'{"key": "\\ud800", "until": "paid", "within": "1 h"}'
    assert (await scene.ask("PUT", "/v1/waits/a", half)).status_code == 422
    assert (await scene.ask("PUT", "/v1/waits/%2312", PAID)).status_code == 422
    assert (await scene.ask("PUT", "/v1/waits/a", {**PAID, "payload": "x" * 70_000})).status_code == 422
    signal = {"key": "k", "kind": "x", "value": 10**400}
    assert (await scene.ask("POST", "/v1/signals", signal)).status_code == 422


@in_service()
async def test_a_parameter_that_is_not_known_is_refused(scene: Scene) -> None:
    assert (await scene.ask("GET", "/v1/waits?kye=order-1")).json()["field"] == "kye"
    assert (await scene.ask("GET", "/v1/waits?limit=0")).json()["field"] == "limit"
    assert (await scene.ask("GET", "/v1/waits?due_before=tomorrow")).json()["field"] == "due_before"
    assert (await scene.ask("GET", "/v1/outcomes?after=-1")).json()["field"] == "after"
    assert (await scene.ask("GET", "/v1/outcomes?wait=long")).json()["field"] == "wait"


@in_service()
async def test_other_methods_and_paths_are_refused_by_name(scene: Scene) -> None:
    answer = await scene.ask("POST", "/v1/waits/a", {})
    assert (answer.status_code, answer.headers["allow"]) == (405, "PUT, GET, PATCH, DELETE")
    for path in ("/", "/v1", "/v1/waits/", "/v1/waits/a/b/c", "/v2/waits"):
        answer = await scene.ask("GET", path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@in_service(limits=Limits(body_bytes=200, batch_bytes=500))
async def test_a_body_beyond_the_limit_is_refused(scene: Scene) -> None:
    answer = await scene.ask("PUT", "/v1/waits/a", {**PAID, "payload": "x" * 200})
    assert (answer.status_code, "200 bytes" in answer.json()["detail"]) == (413, True)
    assert (await scene.ask("POST", "/v1/batch", b"{}\n" * 200)).status_code == 413

    async def without_length() -> object:
        for _ in range(100):
            yield b" " * 10

    answer = await scene.client.put("/v1/waits/a", content=without_length())  # type: ignore[arg-type]
    assert answer.status_code == 413


@in_service(limits=Limits(pending=2))
async def test_waits_beyond_the_limit_are_refused_and_those_there_go_on(scene: Scene) -> None:
    for i in range(2):
        assert (await scene.ask("PUT", f"/v1/waits/w{i}", PAID)).status_code == 201
    refused = await scene.ask("PUT", "/v1/waits/w2", PAID)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert (await scene.ask("PUT", "/v1/waits/w0", PAID)).status_code == 200


@in_service(limits=Limits(per_second=5))
async def test_requests_beyond_the_rate_are_refused_and_lines_of_a_batch_count(scene: Scene) -> None:
    line = b'{"signal": {"key": "k", "kind": "x"}}\n'
    answer = await scene.ask("POST", "/v1/batch", line * 50)
    assert answer.status_code == 200  # more than a second's worth at once needs a full second before it
    refused = await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "x"})
    assert (refused.status_code, "5 times per second" in refused.json()["detail"]) == (429, True)
    assert (await scene.ask("GET", "/healthz")).status_code == 200


@in_service()
async def test_time_goes_by_itself_or_by_hand_never_back(scene: Scene) -> None:
    now_ms = (await scene.ask("POST", "/v1/clock/advance", {"by": "1 h"})).json()["now_ms"]
    assert (await scene.ask("POST", "/v1/clock/advance", {"to": now_ms + 5})).json() == {"now_ms": now_ms + 5}
    assert (await scene.ask("POST", "/v1/clock/advance", {"to": now_ms})).status_code == 422
    assert (await scene.ask("POST", "/v1/clock/advance", {"by": "1 h", "to": now_ms})).status_code == 422
    assert (await scene.ask("POST", "/v1/clock/advance", {"by": 2**61})).status_code == 422


@in_service(clock="system")
async def test_a_clock_that_runs_is_not_moved_by_hand(scene: Scene) -> None:
    assert (await scene.ask("POST", "/v1/clock/advance", {"by": "1 h"})).status_code == 409


@in_service()
async def test_a_wait_that_comes_back_from_the_folder_is_the_same(scene: Scene) -> None:
    opened = (await scene.ask("PUT", "/v1/waits/a", PAID)).json()
    folder = scene.service.settings.data
    await scene.service.stop()
    async with serving(folder) as again:  # type: ignore[arg-type]
        assert (await again.ask("GET", "/v1/waits/a")).json() == opened


HTTP_WORDS = {
    "a rule nobody knows": ("PUT", "/v1/waits/a", {"key": "k", "rule": "none"}, "rule", "PUT /v1/rules/{name}"),
    "no duration": ("PUT", "/v1/waits/a", {**PAID, "within": "soon"}, "within", 'as in "15 min"'),
    "no condition": (
        "PUT",
        "/v1/waits/a",
        {**PAID, "until": {"sean": "x"}},
        "until",
        '{"sean": "x"} is not a condition',
    ),
    "half a pair": ("POST", "/v1/signals", b'{"key": "\\ud800", "kind": "x"}', "key", "half a surrogate pair"),
    "a payload too large": ("PUT", "/v1/waits/a", {**PAID, "payload": "x" * 70_000}, "payload", "65,536 are allowed"),
    "an id of the hub's": ("PUT", "/v1/waits/%23a", PAID, "id", "use another one"),
    "another wait": (
        "PUT",
        "/v1/waits/there",
        {**PAID, "key": "l"},
        "id",
        "on 'order-1', by rule 'wait', within 1 h, with no",
    ),
    "one too many": ("PUT", "/v1/waits/a", PAID, None, "a larger --max-pending"),
    "a rule in XML": ("PUT", "/v1/rules/r", "<rule/>", None, "content-type is application/toml, is not JSON"),
    "no incident": ("POST", "/v1/incidents/99/undo", None, "number", "there is no incident 99"),
}


@pytest.mark.parametrize(("method", "path", "body", "field", "words"), HTTP_WORDS.values(), ids=HTTP_WORDS)
def test_a_refusal_speaks_of_requests_and_not_of_python(
    tmp_path: Path, method: str, path: str, body: Any, field: str | None, words: str
) -> None:
    @in_service(limits=Limits(pending=1))
    async def test(scene: Scene) -> None:
        assert (await scene.ask("PUT", "/v1/waits/there", {**PAID, "within": "1 h"})).status_code == 201
        problem = (await scene.ask(method, path, body)).json()
        assert (problem.get("field"), words in problem["detail"]) == (field, True), problem
        assert not {"None", "()", "(...)"} & set(problem["detail"].split())

    test(tmp_path)
