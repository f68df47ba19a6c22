"""Small random programs for a durable hub: what they do is written down, and how long the journal was when answered."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

import sojourn as sj
from durable.scene import FUNDED, SHIPPED, Scene

KEYS = ("a", "b", "c")
IDS = ("i1", "i2", "i3", None)


class Answered(NamedTuple):
    """A call that returned, and how many operations the disk had seen by then."""

    ops: int
    pending: frozenset[str]
    """The ids of all pending waits."""
    told: int
    """The number of the last outcome."""


def run(scene: Scene, seed: int, steps: int) -> list[Answered]:
    random = Random(seed)
    scene.hub.register(SHIPPED)
    scene.hub.register(FUNDED)
    answered = [answer(scene)]
    for _ in range(steps):
        step(scene, random)
        scene.hub._engine.state.check()
        answered.append(answer(scene))
    return answered


def answer(scene: Scene) -> Answered:
    pending = frozenset(wait.id for wait in scene.hub.list())
    return Answered(len(scene.files.journal), pending, scene.hub.stats().last_number)


def step(scene: Scene, random: Random) -> None:
    hub, key = scene.hub, random.choice(KEYS)
    match random.randrange(10):
        case 0 | 1:
            wait(scene, random, key)
        case 2:
            hub.wait_many(list(KEYS), "paid", random.randrange(50))
        case 3 | 4:
            hub.signal(key, random.choice(("paid", "packed", "void")), id=random.choice(IDS))
        case 5:
            hub.signal(key, "coin", random.choice((None, "s", 3)), random.choice((3, 2.5)), id=random.choice(IDS))
        case 6:
            waits = hub.list()
            if waits:
                hub.extend(random.choice(waits), random.randrange(200))
        case 7:
            waits = hub.list()
            if waits:
                hub.cancel(random.choice(waits))
        case 8:
            where: dict[str, Any] = random.choice(({"rule": "shipped"}, {"key_prefix": "a"}))
            _ = hub.cancel_where(**where) if random.random() < 0.3 else hub.shift(**where, by=random.randrange(1, 90))
        case 9:
            scene.clock.advance(random.randrange(120))


def wait(scene: Scene, random: Random, key: str) -> None:
    keys = random.choice((key, list(KEYS)))
    given_id = None if random.random() < 0.5 else f"w{random.randrange(4)}"
    with suppress(sj.IdTakenError):
        scene.hub.wait(keys, rule=random.choice(("shipped", "funded")), id=given_id, payload=random.choice((None, [1])))
