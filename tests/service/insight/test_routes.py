"""What a folder tells about itself, over HTTP, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from service.scene import Scene, serving
from sojourn.durable import verify

SHIPPED = {"opens": "order", "until": {"all_of": ["paid", "packed"]}, "within": "30 min"}


def played(data: Path, play: Callable[[Scene], Awaitable[None]]) -> None:
    """Play against a service; afterwards what it told is what the law says."""

    async def main() -> None:
        async with serving(data) as scene:
            await ok(scene, "PUT", "/v1/rules/shipped", SHIPPED)
            await play(scene)

    asyncio.run(main())
    assert verify(data).is_same


async def ok(scene: Scene, method: str, path: str, body: Any = None) -> Any:
    answer = await scene.ask(method, path, body)
    assert answer.status_code < 300, answer.text
    return answer.json()


async def a_morning(scene: Scene) -> None:
    """Twenty orders; order i is met after i + 1 minutes, the last two never."""
    for i in range(20):
        await ok(scene, "PUT", f"/v1/waits/o{i}", {"key": f"o{i}", "rule": "shipped"})
    for i in range(18):
        await scene.advance("1 min")
        for kind in ("paid", "packed"):
            await ok(scene, "POST", "/v1/signals", {"key": f"o{i}", "kind": kind})
    await scene.advance("15 min")


def test_now_tells_pending_by_due_and_outcomes_as_they_come(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        for i in range(6):
            within = f"{10 * (i + 1)} min"
            await ok(scene, "PUT", f"/v1/waits/w{i}", {"key": "a", "until": "x", "within": within})
        now = await ok(scene, "GET", "/v1/now?within=1h&buckets=6")
        assert (now["pending"], now["overdue"], sum(now["counts"]) + now["later"]) == (6, 0, 6)
        assert now["width_ms"] == 600_000
        assert now["is_manual"]
        await scene.advance("25 min")
        now = await ok(scene, "GET", "/v1/now")
        assert now["pending"] == 4
        assert sum(row[1] for row in now["minutes"]) == 2
        assert now["lateness"]["count"] == 2
        assert now["disk"]["log"] > 0

    played(tmp_path, play)


def test_a_forecast_tells_a_herd_and_how_long_it_takes(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        one = '{"wait": {"key": "k", "until": "x", "within": "20 min"}}\n'
        assert (await scene.ask("POST", "/v1/batch", one * 3_000)).status_code == 200
        found = await ok(scene, "GET", "/v1/forecast?within=1h")
        assert [herd["waits"] for herd in found["herds"]] == [3_000]
        assert found["herds"][0]["takes_ms"] == round(3_000 / found["told_per_second"] * 1_000)
        assert not found["is_measured"]
        assert "disk" not in found
        await scene.advance("21 min")
        assert (await ok(scene, "GET", "/v1/forecast"))["is_measured"]

    played(tmp_path, play)


def test_history_gives_shares_what_ifs_and_recommendations(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        await a_morning(scene)
        (rule,) = (await ok(scene, "GET", "/v1/insight/rules"))["rules"]
        assert (rule["rule"], rule["opened"], rule["completed"], rule["expired"]) == ("shipped", 20, 18, 2)
        assert rule["share"] == 0.9
        assert rule["within_ms"] == 1_800_000
        assert sum(rule["bars"]["counts"]) == 18
        asked = {"rule": "shipped", "within": ["5 min", "30 min"]}
        short, same = (await ok(scene, "POST", "/v1/what-if", asked))["deadlines"]
        assert (short["completed"], short["expired"], short["share"][0]) == (5, 15, 0.25)
        assert (same["completed"], same["expired"]) == (18, 2)
        found = await ok(scene, "POST", "/v1/recommend", {"rule": "shipped", "share": 0.5})
        assert (found["within"], found["within_ms"]) == ("10 min", 600_000)
        never = await ok(scene, "POST", "/v1/recommend", {"rule": "shipped", "share": 0.99})
        assert never["within_ms"] is None

    played(tmp_path, play)


def test_the_outlook_of_a_wait_is_given_its_age(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        await a_morning(scene)
        await ok(scene, "PUT", "/v1/waits/new", {"key": "new", "rule": "shipped"})
        await scene.advance("10 min")
        found = await ok(scene, "GET", "/v1/waits/new/outlook")
        # of ten like it, eight were met later: half of the ten by minute 15, and never nine
        assert (found["p50_ms"], found["p90_ms"], found["age_ms"]) == (300_000, None, 600_000)
        assert found["completes"] == pytest.approx(0.8)
        await ok(scene, "POST", "/v1/incidents", {"act": "stop", "rule": "shipped"})
        assert (await ok(scene, "GET", "/v1/waits/new/outlook"))["left_ms"] == 20 * 60_000
        gone = await scene.ask("GET", "/v1/waits/o1/outlook")
        assert gone.status_code == 409

    played(tmp_path, play)


def test_a_timeline_has_what_came_and_what_only_just_missed(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        await ok(scene, "POST", "/v1/signals", {"key": "a", "kind": "paid"})
        await scene.advance("1 s")
        await ok(scene, "PUT", "/v1/waits/a", {"key": "a", "rule": "shipped"})
        await scene.advance("1 min")
        await ok(scene, "POST", "/v1/signals", {"key": "a", "kind": "paid", "source": "bank"})
        await ok(scene, "POST", "/v1/signals", {"key": "a", "kind": "greeting"})
        await ok(scene, "PATCH", "/v1/waits/a", {"within": "10 min"})
        await scene.advance("11 min")
        await ok(scene, "POST", "/v1/signals", {"key": "a", "kind": "packed"})
        steps = (await ok(scene, "GET", "/v1/waits/a/timeline"))["steps"]
        assert [(step["what"], step.get("kind"), step.get("note")) for step in steps] == [
            ("signal", "paid", "before it was opened"),
            ("opened", None, None),
            ("signal", "paid", "counted"),
            ("signal", "greeting", "not awaited"),
            ("extended", None, None),
            ("expired", None, None),
            ("signal", "packed", "after it had ended"),
        ]

    played(tmp_path, play)


def test_incidents_are_done_listed_and_undone(tmp_path: Path) -> None:
    async def play(scene: Scene) -> None:
        await ok(scene, "PUT", "/v1/waits/a", {"key": "a", "rule": "shipped"})
        stopped = await ok(scene, "POST", "/v1/incidents", {"act": "stop", "rule": "shipped", "note": "down"})
        assert (stopped["waits"], stopped["by_ms"]) == (1, None)
        await scene.advance("5 h")
        assert (await ok(scene, "GET", "/v1/now"))["stopped"] == 1
        await ok(scene, "POST", "/v1/incidents", {"act": "resume", "rule": "shipped"})
        shift = await ok(scene, "POST", "/v1/incidents", {"act": "shift", "rule": "shipped", "by": "1 h"})
        await ok(scene, "POST", f"/v1/incidents/{shift['number']}/undo")
        found = await ok(scene, "GET", "/v1/incidents")
        assert [(act["act"], act["is_over"]) for act in found["incidents"]] == [
            ("undo", False),
            ("shift", True),
            ("resume", False),
            ("stop", True),
        ]
        assert found["stopped"] == {}
        wait = await ok(scene, "GET", "/v1/waits/a")
        assert wait["deadline"] == scene.service.now_ms() + 1_800_000

    played(tmp_path, play)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("GET", "/v1/now?within=soon", None, 422, "within"),
        ("GET", "/v1/now?within=1ms", None, 422, "within"),
        ("GET", "/v1/now?far=1h", None, 422, "far"),
        ("POST", "/v1/what-if", {"rule": "nobody", "within": "1 h"}, 404, "rule"),
        ("POST", "/v1/what-if", {"rule": "shipped", "within": []}, 422, "within"),
        ("POST", "/v1/what-if", {"rule": "shipped", "within": "900000 weeks"}, 422, "within"),
        ("POST", "/v1/recommend", {"rule": "shipped", "share": 2}, 422, "share"),
        ("POST", "/v1/incidents", {"act": "explode"}, 422, "act"),
        ("POST", "/v1/incidents", {"act": "stop", "rule": "nobody"}, 422, "rule"),
        ("POST", "/v1/incidents", {"act": "stop", "rule": "shipped", "by": "1 h"}, 422, "by"),
        ("POST", "/v1/incidents", {"act": "shift", "by": "1 h"}, 422, "rule"),
        ("POST", "/v1/incidents", {"act": "shift", "rule": "shipped", "by": "1 h"}, 409, "rule"),
        ("POST", "/v1/incidents/one/undo", None, 404, "number"),
        ("GET", "/v1/waits/nobody/timeline", None, 404, "id"),
        ("GET", "/v1/waits/nobody/outlook", None, 404, "id"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_field(
    tmp_path: Path, method: str, path: str, body: Any, status: int, field: str
) -> None:
    async def play(scene: Scene) -> None:
        answer = await scene.ask(method, path, body)
        assert (answer.status_code, answer.json().get("field")) == (status, field), answer.text

    played(tmp_path, play)
