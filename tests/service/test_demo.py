"""`make serve`: a past that the law agrees with, and a receiver that takes most of what it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import sojourn as sj
from durable.scene import WALL_MS
from sojourn.durable import verify
from sojourn.service import demo
from sojourn.service.demo_receiver import Receiver


def test_the_past_is_the_same_for_the_same_seed_and_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "WEEK_MS", 6 * 3_600_000)
    told = []
    for name in ("one", "two"):
        assert demo.make_past(str(tmp_path / name), WALL_MS, seed=3) > 250
        told.append([(one.operation_id, one.outcome, one.at) for one in sj.read(tmp_path / name).outcomes()])
        assert verify(tmp_path / name).is_same
    assert told[0] == told[1]
    assert {outcome for _, outcome, _ in told[0]} == {"completed", "expired", "cancelled"}


def test_the_receiver_takes_most_and_refuses_some() -> None:
    async def main() -> list[bytes]:
        receiver = Receiver(1)
        port = int((await receiver.start()).split(":")[2].split("/")[0])
        answers = []
        for _ in range(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /outcomes HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            answers.append((await reader.read()).split(b" ")[1])
            writer.close()
            await writer.wait_closed()
        await receiver.stop()
        return answers

    answers = asyncio.run(main())
    assert set(answers) == {b"204", b"503"}
    assert answers.count(b"503") < 20
