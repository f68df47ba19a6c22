"""`python -m tests.service.kills N [--seed S]`: a service under load is killed N times; its clients ask again.

Clients open waits, signal or cancel some, and ask again until they are answered: everything has an id, so that is safe.
One follows the outcomes from its cursor. The oracle knows what was answered: each acknowledged wait ends once, as it
must, and whoever followed has heard of it exactly once.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from service.running import Running  # noqa: E402
from sojourn.durable import verify  # noqa: E402

CLIENTS = 8
SHORT_MS, LONG_MS = (50, 400), 3_600_000
LIFE_S = (0.3, 2.0)


class World:
    """What is known from outside, for the clients and the oracle."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.is_over = threading.Event()
        self.is_silent = threading.Event()
        """Set when nothing more will be told."""
        self.expected: dict[str, str] = {}
        """By acknowledged wait: how it must end."""
        self.heard: list[dict[str, Any]] = []
        self.retries = 0

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Until there is an answer. A 503 says to ask again, as no answer does."""
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                connection.request(method, path, None if body is None else json.dumps(body))
                answer = connection.getresponse()
                text = answer.read()
                if answer.status != 503:
                    return answer.status, json.loads(text)
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            self.retries += 1
            time.sleep(0.02)


def client(world: World, name: int, random: Random) -> None:
    number = 0
    while not world.is_over.is_set():
        number += 1
        wait_id = f"c{name}-{number}"
        deed = random.choice(["signal", "cancel", "expire", "leave"])
        within_ms = random.randint(*SHORT_MS) if deed == "expire" else LONG_MS
        body = {"key": wait_id, "until": "done", "within": within_ms, "payload": wait_id}
        status, answer = world.ask("PUT", f"/v1/waits/{wait_id}", body)
        assert status in (200, 201), (status, answer)
        if deed == "signal":
            signal = {"key": wait_id, "kind": "done", "id": f"signal-{wait_id}"}
            assert world.ask("POST", "/v1/signals", signal)[0] == 200
        elif deed == "cancel":
            status, answer = world.ask("DELETE", f"/v1/waits/{wait_id}")
            assert answer["wait"]["status"] == "cancelled", answer
        endings = {"signal": "completed", "cancel": "cancelled", "expire": "expired", "leave": "pending"}
        world.expected[wait_id] = endings[deed]


def follower(world: World) -> None:
    """Hear every outcome once, whatever happens to the service."""
    last = 0
    while not world.is_silent.is_set() or last < int(world.ask("GET", "/v1/stats")[1]["last_number"]):
        status, page = world.ask("GET", f"/v1/outcomes?after={last}&wait=200ms")
        assert status == 200, page
        world.heard += page["outcomes"]
        last = page["last"]


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


def run(kills: int, seed: int, folder: Path) -> World:
    """`AssertionError` if something is not as it was answered."""
    random = Random(seed)
    service = Running(folder)
    world = World(service.port)
    people = [threading.Thread(target=_guarded, args=(client, world, i, Random(seed + i))) for i in range(CLIENTS)]
    people.append(threading.Thread(target=_guarded, args=(follower, world)))
    for person in people:
        person.start()
    try:
        for _ in range(kills):
            time.sleep(random.uniform(*LIFE_S))
            service.kill()
            service = Running(folder, "--port", str(world.port))
        service.become_ready()
    finally:
        world.is_over.set()
        for person in people[:-1]:
            person.join()
        time.sleep(max(SHORT_MS) / 1000 + 0.5)  # the last short ones expire
        world.is_silent.set()
        people[-1].join()
        service.stop()
    assert not FAILURES, FAILURES[0]
    check(world, folder)
    return world


FAILURES: list[BaseException] = []


def _guarded(deed: Any, *arguments: Any) -> None:
    try:
        deed(*arguments)
    except BaseException as error:
        FAILURES.append(error)
        arguments[0].is_over.set()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        world = run(options.kills, options.seed, Path(folder) / "data")
    print(f"{len(world.expected):,} waits acknowledged, {len(world.heard):,} outcomes, {world.retries:,} asked again")


if __name__ == "__main__":
    main()
