"""`python -m tests.service.kills N [--seed S] [--rate R]`: a service under load is killed N times; clients ask again.

The load is open loop: stories begin on a schedule, so many per second, whether those before them were answered or not,
and one that is late is still told. A story opens a wait and signals it, cancels it or leaves it, or opens some waits as
one atomic batch. It repeats each request until it is answered: everything has an id, so that is safe. When a batch is
repeated, all of it is there already, or nothing. One client follows the outcomes from its cursor. The oracle knows what
was answered: each acknowledged wait ends once, as it must, and the follower hears of it once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, NamedTuple

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from service.running import Running  # noqa: E402
from sojourn.durable import verify  # noqa: E402

RATE = 100
"""Stories per second."""
SHORT_MS, LONG_MS = (50, 400), 3_600_000
LIFE_S = (0.5, 3.0)
PAUSE_S = (0.05, 0.25)
"""Before a request is repeated: so that hundreds who wait do not keep a service from starting."""
TIMEOUT_S = 20
ENDINGS = {"signal": "completed", "cancel": "cancelled", "expire": "expired", "leave": "pending", "batch": "expired"}
BATCH = 20
"""Waits of an atomic batch."""


class Story(NamedTuple):
    """`due_s` is when it begins, on the clock of the loop."""

    id: str
    deed: str
    within_ms: int
    due_s: float


class World:
    """What is known from outside, for the clients and the oracle."""

    def __init__(self, service: Running, random: Random) -> None:
        self.service = service
        """The one that runs now."""
        self.port = service.port
        self.random = random
        self.is_over = asyncio.Event()
        self.is_silent = asyncio.Event()
        """Set when nothing more will be told."""
        self.expected: dict[str, str] = {}
        """By acknowledged wait: how it must end."""
        self.heard: list[dict[str, Any]] = []
        self.retries = 0
        self.late_s: list[float] = []
        """From when each wait was due to be asked for until it was acknowledged."""
        self.most_under_way = 0

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Until there is an answer. A 503 says to ask again, as no answer does."""
        while True:
            try:
                status, text = await asyncio.wait_for(exchange(self.port, method, path, body), TIMEOUT_S)
                if status != 503:
                    return status, json_of(text, is_lines(body))
            except (OSError, EOFError, TimeoutError, ValueError):
                pass  # refused, cut off, or half an answer
            self.retries += 1
            await asyncio.sleep(self.random.uniform(*PAUSE_S))


def is_lines(body: Any) -> bool:
    return isinstance(body, bytes)


def json_of(text: bytes, has_lines: bool) -> Any:
    return [json.loads(line) for line in text.splitlines()] if has_lines else json.loads(text)


async def exchange(port: int, method: str, path: str, body: Any) -> tuple[int, bytes]:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        data = body if is_lines(body) else b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return int(answer.split(b" ", 2)[1]), await reader.readexactly(int(length.split(b":")[1]))
    finally:
        writer.close()


def schedule(random: Random, begin_s: float, rate: int) -> Iterator[Story]:
    """Stories for ever, each with its time."""
    number = 0
    while True:
        deed = random.choice(list(ENDINGS))
        within_ms = random.randint(*SHORT_MS) if ENDINGS[deed] == "expired" else LONG_MS
        yield Story(f"w{number}", deed, within_ms, begin_s + number / rate)
        number += 1


async def arrivals(world: World, rate: int) -> None:
    """Begin each story when it is due, and return when all have been told to their end."""
    now_s = asyncio.get_running_loop().time
    under_way: set[asyncio.Task[None]] = set()
    for story in schedule(world.random, now_s(), rate):
        await asyncio.sleep(max(0.0, story.due_s - now_s()))
        for told in [task for task in under_way if task.done()]:
            under_way.remove(told)
            told.result()  # what went wrong ends the run
        if world.is_over.is_set():
            break
        under_way.add(asyncio.create_task(tell(world, story)))
        world.most_under_way = max(world.most_under_way, len(under_way))
    await asyncio.gather(*under_way)


async def tell(world: World, story: Story) -> None:
    ids = await (open_batch if story.deed == "batch" else open_wait)(world, story)
    world.late_s.append(asyncio.get_running_loop().time() - story.due_s)
    if story.deed == "signal":
        signal = {"key": story.id, "kind": "done", "id": f"signal-{story.id}"}
        status, answer = await world.ask("POST", "/v1/signals", signal)
        assert status == 200, answer
    elif story.deed == "cancel":
        status, answer = await world.ask("DELETE", f"/v1/waits/{story.id}")
        assert answer["wait"]["status"] == "cancelled", answer
    world.expected |= dict.fromkeys(ids, ENDINGS[story.deed])


def wait_shape(story: Story, wait_id: str) -> dict[str, Any]:
    return {"id": wait_id, "key": wait_id, "until": "done", "within": story.within_ms, "payload": wait_id}


async def open_wait(world: World, story: Story) -> list[str]:
    status, answer = await world.ask("PUT", f"/v1/waits/{story.id}", wait_shape(story, story.id))
    assert status in (200, 201), (status, answer)
    return [story.id]


async def open_batch(world: World, story: Story) -> list[str]:
    ids = [f"{story.id}-{i}" for i in range(BATCH)]
    lines = b"\n".join(json.dumps({"wait": wait_shape(story, wait_id)}).encode() for wait_id in ids)
    status, answers = await world.ask("POST", "/v1/batch?atomic=true", lines)
    assert status == 200, answers
    statuses = {answer["status"] for answer in answers}
    assert statuses in ({200}, {201}), f"{story.id}: some were there and some were not"
    return ids


async def follow(world: World) -> None:
    """Hear every outcome once, whatever happens to the service."""
    last = 0
    while not world.is_silent.is_set() or last < int((await world.ask("GET", "/v1/stats"))[1]["last_number"]):
        status, page = await world.ask("GET", f"/v1/outcomes?after={last}&wait=200ms")
        assert status == 200, page
        world.heard += page["outcomes"]
        last = page["last"]


async def kill_often(world: World, folder: Path, kills: int) -> None:
    """The load goes on meanwhile: threads do what blocks."""
    for _ in range(kills):
        await asyncio.sleep(world.random.uniform(*LIFE_S))
        await asyncio.to_thread(world.service.kill)
        world.service = await asyncio.to_thread(Running, folder, "--port", str(world.port))
    await asyncio.to_thread(world.service.become_ready)


async def play(world: World, folder: Path, kills: int, rate: int) -> None:
    """The load, the follower and the kills; the first failure ends them all."""
    async with asyncio.TaskGroup() as group:
        following = group.create_task(follow(world))
        load = group.create_task(arrivals(world, rate))
        await kill_often(world, folder, kills)
        world.is_over.set()
        await load
        await asyncio.sleep(max(SHORT_MS) / 1000 + 0.5)  # the last short ones expire
        world.is_silent.set()
        await following


def check(world: World, folder: Path) -> None:
    numbers = [outcome["number"] for outcome in world.heard]
    assert numbers == list(range(1, len(numbers) + 1)), "a number is missing, or was heard twice"
    times = Counter(outcome["operation_id"] for outcome in world.heard)
    assert not times or max(times.values()) == 1, f"two outcomes: {times.most_common(3)}"
    ended = {outcome["operation_id"]: outcome for outcome in world.heard}
    for wait_id, expected in world.expected.items():
        found = ended.get(wait_id)
        assert (found["outcome"] if found else "pending") == expected, f"{wait_id} must be {expected}, and is {found}"
        assert found is None or found["payload"] == wait_id
        assert found is None or found["outcome"] != "expired" or found["at"] == found["deadline"]
    assert verify(folder).is_same


def run(kills: int, seed: int, folder: Path, rate: int = RATE) -> World:
    """`AssertionError`, by itself or in a group, if something is not as it was answered."""
    world = World(Running(folder), Random(seed))
    try:
        asyncio.run(play(world, folder, kills, rate))
    finally:
        world.service.stop()
    check(world, folder)
    return world


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32))
    parser.add_argument("--rate", type=int, default=RATE, help="stories per second")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        world = run(options.kills, options.seed, Path(folder) / "data", options.rate)
    late_s = sorted(world.late_s)
    p50, p99 = (late_s[int(len(late_s) * share)] for share in (0.5, 0.99))
    print(f"{len(world.expected):,} waits acknowledged, {len(world.heard):,} outcomes, {world.retries:,} asked again")
    print(f"acknowledged after p50 {p50:.3f} s, p99 {p99:.3f} s; at most {world.most_under_way:,} under way at once")


if __name__ == "__main__":
    main()
