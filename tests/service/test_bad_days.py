"""Bad days: a folder that takes long to read, a disk that is full, followers that do not read, bodies of any bytes."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from service.running import Stream, running
from service.scene import Scene, in_service, serving
from sojourn.durable.async_hub import AsyncDurableHub
from sojourn.errors import DiskError
from sojourn.service.app import make_app
from sojourn.service.service import Service
from sojourn.service.settings import Settings

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}


def test_until_the_folder_is_read_it_is_alive_and_not_ready(tmp_path: Path) -> None:
    may_go_on = threading.Event()

    class Slow(Service):
        def _make_hub(self) -> AsyncDurableHub:
            may_go_on.wait()
            return super()._make_hub()

    async def main() -> None:
        service = Slow(Settings(str(tmp_path), clock="manual"))
        app = make_app(service)
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            assert (await client.get("/healthz")).status_code == 200
            for path in ("/readyz", "/v1/waits", "/v1/stats"):
                answer = await client.get(path)
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            may_go_on.set()
            await service.opened()
            assert (await client.get("/readyz")).json() == {"status": "ready", "pending": 0}

    asyncio.run(main())


@in_service()
async def test_while_the_disk_is_full_writes_are_refused_and_reads_go_on(scene: Scene) -> None:
    await scene.ask("PUT", "/v1/waits/a", PAID)
    log = scene.service.hub._engine.log
    commit = log.commit

    def full(*asked: Any) -> None:
        log.failure = OSError("no space left")
        raise DiskError("the disk is full")

    start_segment = log.start_segment
    log.commit = log.start_segment = full  # type: ignore[method-assign,assignment]
    refused = await scene.ask("PUT", "/v1/waits/b", PAID)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    batch = await scene.ask("POST", "/v1/batch", json.dumps({"wait": {**PAID, "id": "c"}}))
    assert batch.status_code == 503
    assert (await scene.ask("GET", "/v1/waits/a")).json()["status"] == "pending"
    assert (await scene.ask("GET", "/v1/stats")).json()["is_failing"] is True
    log.commit, log.start_segment = commit, start_segment  # type: ignore[method-assign]
    assert (await scene.ask("PUT", "/v1/waits/b", PAID)).status_code == 201
    assert (await scene.ask("GET", "/v1/stats")).json()["rules"]["wait"]["pending"] == 2


def test_whoever_does_not_read_its_stream_holds_up_nobody_and_misses_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--sync", "os") as service:
        sleeping, awake = Stream(service), Stream(service)
        payload = "x" * 2_000
        for start in range(0, 4_000, 1_000):
            ids = [f"w{i}" for i in range(start, start + 1_000)]
            waits = [{"wait": {**PAID, "id": i, "key": i, "payload": payload}} for i in ids]
            signals = [{"signal": {"key": i, "kind": "paid"}} for i in ids]
            body = "\n".join(map(json.dumps, [*waits, *signals])).encode()
            assert service.ask("POST", "/v1/batch?brief=true", body)[0] == 200
            assert [event["operation_id"] for event in awake.events(1_000)] == ids
        assert [event["number"] for event in sleeping.events(4_000)] == list(range(1, 4_001))
        sleeping.close()
        awake.close()


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ["key", "keys", "rule", "until", "within", "payload", "id", "kind", "value", "source", "at", "by", "to"]
BODIES = (
    st.binary(max_size=200)
    | ANY_JSON.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(FIELDS), ANY_JSON, max_size=5).map(lambda value: json.dumps(value).encode())
)
WRITES = [
    ("PUT", "/v1/waits/a"),
    ("POST", "/v1/waits"),
    ("PATCH", "/v1/waits/a"),
    ("POST", "/v1/signals"),
    ("POST", "/v1/batch"),
    ("POST", "/v1/waits:cancel"),
    ("POST", "/v1/waits:shift"),
    ("PUT", "/v1/rules/r"),
]


def test_whatever_the_body_is_the_answer_is_not_5xx(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path / "data") as scene:
            await scene.ask("PUT", "/v1/waits/a", PAID)
            loop = asyncio.get_running_loop()

            @settings(max_examples=60, deadline=None)
            @given(st.sampled_from(WRITES), BODIES)
            def fuzz(where: tuple[str, str], body: bytes) -> None:
                answer = asyncio.run_coroutine_threadsafe(scene.ask(*where, body), loop).result()
                assert answer.status_code < 500, (where, body, answer.text)
                if answer.headers["content-type"] == "application/x-ndjson":
                    assert all(json.loads(line)["status"] < 500 for line in answer.text.splitlines())

            await loop.run_in_executor(None, fuzz)

    asyncio.run(main())
