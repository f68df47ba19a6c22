"""Waits over HTTP: opened, read, extended, cancelled, listed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from service.scene import serving

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}


def test_a_wait_is_new_once_then_the_same_and_another_one_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as scene:
            first = await scene.ask("PUT", "/v1/waits/a", PAID)
            again = await scene.ask("PUT", "/v1/waits/a", PAID)
            other = await scene.ask("PUT", "/v1/waits/a", {**PAID, "key": "order-2"})
            assert [first.status_code, again.status_code, other.status_code] == [201, 200, 409]
            assert first.json() == again.json()
            assert first.json()["status"] == "pending"
            assert first.json()["missing"] == "paid"

    asyncio.run(main())
