"""Webhooks over HTTP: registered, changed, listed, retried; and delivered to a real receiver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from service.scene import Scene, serving
from service.webhooks.scene import SECRET
from service.webhooks.test_sender import Server
from sojourn.service.access.tokens import Tokens
from sojourn.service.webhooks import verify
from sojourn.service.webhooks.part import WebhooksPart

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}
LOOPBACK = ("127.0.0.1",)


def play(folder: Path, act: Callable[[Scene, Server], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        async with (
            asyncio.timeout(60),
            Server() as receiver,
            serving(folder, parts=(WebhooksPart,), webhooks_to=LOOPBACK, **settings) as scene,
        ):
            await act(scene, receiver)

    asyncio.run(main())


def part_of(scene: Scene) -> WebhooksPart:
    return next(part for part in scene.service.parts if isinstance(part, WebhooksPart))


async def settled(scene: Scene) -> None:
    await asyncio.sleep(0)
    await part_of(scene).webhooks.settled()


def url_of(receiver: Server) -> str:
    return f"http://127.0.0.1:{receiver.port}/hook"


async def complete(scene: Scene, wait_id: str) -> None:
    await scene.ask("PUT", f"/v1/waits/{wait_id}", {**PAID, "key": wait_id})
    answer = await scene.ask("POST", "/v1/signals", {"key": wait_id, "kind": "paid"})
    assert answer.json() == {"completed": 1}
    await settled(scene)


def test_an_outcome_goes_to_the_receiver_signed(tmp_path: Path) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        made = await scene.ask("POST", "/v1/webhooks", {"url": url_of(receiver), "secret": SECRET, "id": "crm"})
        assert made.status_code == 201
        assert made.json()["secret"] == SECRET
        await complete(scene, "a")
        head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
        headers = dict(line.decode().lower().split(": ", 1) for line in head.split(b"\r\n")[1:])
        signed = {**headers, "webhook-signature": _original(head, b"webhook-signature")}
        assert verify(SECRET, signed, body, now_s=scene.service.now_ms() / 1_000)
        event = json.loads(body)
        assert (event["type"], event["subject"]) == ("sojourn.outcome.completed", "a")
        (outcome,) = (await scene.ask("GET", "/v1/outcomes")).json()["outcomes"]
        assert event["data"] == outcome

    play(tmp_path, act)


def _original(head: bytes, name: bytes) -> str:
    (line,) = [line for line in head.split(b"\r\n") if line.lower().startswith(name)]
    return line.partition(b": ")[2].decode()


def test_a_secret_is_shown_once(tmp_path: Path) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        body = {"url": url_of(receiver), "id": "crm"}
        first = (await scene.ask("POST", "/v1/webhooks", body)).json()["secret"]
        again = await scene.ask("POST", "/v1/webhooks", body)
        assert (again.status_code, "secret" in again.json()) == (200, False)
        rotated = await scene.ask("POST", "/v1/webhooks/crm/rotate", {"keep_old": "1 h"})
        assert rotated.json()["secret"] not in (first, None)
        assert rotated.json()["old_until"] == scene.service.now_ms() + 3_600_000
        for path in ("/v1/webhooks", "/v1/webhooks/crm", "/v1/webhooks/crm/deliveries"):
            assert "whsec_" not in (await scene.ask("GET", path)).text

    play(tmp_path, act)


def test_failures_are_listed_and_retried_when_somebody_asks(tmp_path: Path) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        await scene.ask("POST", "/v1/webhooks", {"url": url_of(receiver), "id": "crm"})
        receiver.answer = b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"
        await complete(scene, "a")
        await complete(scene, "b")
        listed = (await scene.ask("GET", "/v1/webhooks/crm/deliveries?status=waiting&limit=1")).json()
        (one,) = listed["deliveries"]
        assert (one["number"], one["attempts"], one["last_status"], one["last_error"]) == (1, 1, 500, "answered 500")
        assert one["outcome"] == {"operation_id": "a", "rule": "wait", "outcome": "completed"}
        assert listed["next"] == 1
        standing = (await scene.ask("GET", "/v1/webhooks/crm")).json()
        assert (standing["waiting"], standing["dead"], standing["after"], standing["behind"]) == (2, 0, 2, 0)
        receiver.answer = b"HTTP/1.1 204 No Content\r\n\r\n"
        assert (await scene.ask("POST", "/v1/webhooks/crm/deliveries/2/retry")).json() == {"retried": 1}
        await settled(scene)
        assert (await scene.ask("POST", "/v1/webhooks/crm/retry")).json() == {"retried": 1}
        await settled(scene)
        delivered = (await scene.ask("GET", "/v1/webhooks/crm/deliveries")).json()["deliveries"]
        assert [(one["number"], one["status"], one["attempts"]) for one in delivered] == [
            (1, "delivered", 2),
            (2, "delivered", 2),
        ]
        assert (await scene.ask("POST", "/v1/webhooks/crm/deliveries/2/retry")).status_code == 404

    play(tmp_path, act)


def test_retries_follow_the_clock_that_is_moved_by_hand(tmp_path: Path) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        await scene.ask("POST", "/v1/webhooks", {"url": url_of(receiver)})
        receiver.answer = b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n"
        await complete(scene, "a")
        receiver.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
        await scene.advance("3s")
        await settled(scene)
        assert len(receiver.requests) == 1
        await scene.advance("1 min")
        await settled(scene)
        assert len(receiver.requests) == 2

    play(tmp_path, act)


def test_a_webhook_is_changed_and_removed(tmp_path: Path) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        await scene.ask("POST", "/v1/webhooks", {"url": url_of(receiver), "id": "crm"})
        changed = await scene.ask("PATCH", "/v1/webhooks/crm", {"rule": "shipped", "enabled": False})
        assert (changed.json()["rule"], changed.json()["enabled"]) == ("shipped", False)
        assert (await scene.ask("DELETE", "/v1/webhooks/crm")).json()["disabled_because"] == "by hand"
        assert (await scene.ask("GET", "/v1/webhooks")).json() == {"webhooks": []}
        for method, path in (("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/rotate"), ("POST", "/retry")):
            answer = await scene.ask(method, f"/v1/webhooks/crm{path}", {})
            assert (answer.status_code, answer.json()["field"]) == (404, "id")

    play(tmp_path, act)


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ({}, "url", "url is missing"),
        ({"url": "https://10.0.0.1/"}, "url", "not a public address"),
        ({"url": "http://[::ffff:169.254.169.254]/latest/meta-data"}, "url", "not a public address"),
        ({"url": "http://localhost:1/x", "webhook": 1}, "webhook", "allowed are url"),
        ({"url": "http://127.0.0.1:1/", "outcomes": "expired"}, None, "is not a list of some of"),
        ({"url": "http://127.0.0.1:1/", "secret": "word"}, None, "24 to 64 bytes"),
        ({"url": "http://127.0.0.1:1/\r\nx: y"}, "url", "characters that a URL has not"),
    ],
)
def test_what_makes_no_sense_is_422_with_the_field(
    tmp_path: Path, body: dict[str, Any], field: str | None, message: str
) -> None:
    async def act(scene: Scene, receiver: Server) -> None:
        answer = await scene.ask("POST", "/v1/webhooks", body)
        assert answer.status_code == 422
        assert message in answer.json()["detail"]
        assert answer.json().get("field") == field

    play(tmp_path, act)


def test_whoever_may_only_write_registers_no_webhook_and_whoever_reads_sees_no_secret(tmp_path: Path) -> None:
    tokens = Tokens.parse("\n".join(f"{name} {name} {name[0] * 32}" for name in ("read", "write", "admin")))

    async def act(scene: Scene, receiver: Server) -> None:
        body = {"url": url_of(receiver), "id": "crm"}
        statuses = []
        for name in ("write", "admin"):
            headers = {"authorization": f"Bearer {name[0] * 32}"}
            statuses.append((await scene.ask("POST", "/v1/webhooks", body, headers=headers)).status_code)
        assert statuses == [403, 201]
        reader = {"authorization": f"Bearer {'r' * 32}"}
        assert (await scene.ask("GET", "/v1/webhooks/crm", headers=reader)).status_code == 200
        assert (await scene.ask("DELETE", "/v1/webhooks/crm", headers=reader)).status_code == 403

    play(tmp_path, act, tokens=tokens)
