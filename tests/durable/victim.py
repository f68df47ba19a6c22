"""A process with a durable hub under load, to be killed: says on its standard output what it is about to do, and did.

`python -m durable.victim FOLDER LIFE AFTER SYNC`: four threads, or coroutines if the number of its life is odd, wait,
signal, extend and cancel, each on keys of its own. Every line is one JSON array, written at once: `["ask", caller, n,
verb, ...]` before a call, and `["ok", caller, n, answer]` after it; `["told", number, id, outcome]` of each outcome
after the number AFTER.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from random import Random
from typing import Any

import sojourn as sj
from sojourn.durable.index.cold import MEMORY, WAIT_BYTES

THREADS = 4
COROUTINES = 4
MEMORIES = (0, 20 * WAIT_BYTES, MEMORY)
"""By the number of the life, in turns: with the index or without."""


def say(*line: Any) -> None:
    """In one write, so that lines of several threads do not mix."""
    os.write(1, (json.dumps(line) + "\n").encode())


class Caller:
    """Chooses what to do next; its keys and ids are its own."""

    def __init__(self, name: str, life: int) -> None:
        self.name = f"{name}-{life}"
        self.random = Random(self.name)
        self.n = 0
        self.open: list[str] = []

    def next(self) -> tuple[Any, ...]:
        self.n += 1
        wait_id = f"{self.name}-{self.n}"
        chosen = self.random.random()
        if chosen < 0.45 or not self.open:
            self.open.append(wait_id)
            return "wait", wait_id, self.random.choice((5, 3_600_000))
        wait_id = self.open.pop(self.random.randrange(len(self.open)))
        if chosen < 0.75:
            return "signal", wait_id
        if chosen < 0.9:
            self.open.append(wait_id)
            return "extend", wait_id
        return "cancel", wait_id


def call(hub: Any, verb: str, wait_id: str, *more: Any) -> Any:
    """The answer, or something to be awaited."""
    match verb:
        case "wait":
            return hub.wait(wait_id, "paid", more[0], id=wait_id, payload=[wait_id])
        case "signal":
            return hub.signal(wait_id, "paid", id=wait_id)
        case "extend":
            return hub.extend(wait_id, "2 h")
        case _:
            return hub.cancel(wait_id)


def work(hub: Any, caller: Caller) -> None:
    while True:
        asked = caller.next()
        say("ask", caller.name, caller.n, *asked)
        answer = call(hub, *asked)
        say("ok", caller.name, caller.n, True if asked[0] == "wait" else answer)


async def work_on_loop(hub: Any, caller: Caller) -> None:
    while True:
        asked = caller.next()
        say("ask", caller.name, caller.n, *asked)
        answering = call(hub, *asked)
        answer = await (answering.opened() if asked[0] == "wait" else answering)
        say("ok", caller.name, caller.n, True if asked[0] == "wait" else answer)


def tell(hub: Any, after: int) -> None:
    for outcome in hub.outcomes(after=after, timeout=None):
        say("told", outcome.number, outcome.operation_id, outcome.outcome)


def with_threads(folder: str, life: int, after: int, sync: str) -> None:
    hub = sj.Hub("victim", data=folder, sync=sync, segment_bytes=20_000, memory=MEMORIES[life % 3])  # type: ignore[call-arg]
    say("ready", hub.stats().torn_bytes)
    callers = [Caller(f"t{i}", life) for i in range(THREADS)]
    threads = [threading.Thread(target=work, args=(hub, caller), daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    tell(hub, after)


async def with_coroutines(folder: str, life: int, after: int, sync: str) -> None:
    hub: Any = sj.AsyncHub("victim", data=folder, sync=sync, segment_bytes=20_000, memory=MEMORIES[life % 3])
    say("ready", hub.stats().torn_bytes)
    tasks = [asyncio.create_task(work_on_loop(hub, Caller(f"c{i}", life))) for i in range(COROUTINES)]
    async for outcome in hub.outcomes(after=after, timeout=None):
        say("told", outcome.number, outcome.operation_id, outcome.outcome)
    await asyncio.gather(*tasks)


if __name__ == "__main__":
    folder, life, after, sync = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if life % 2:
        asyncio.run(with_coroutines(folder, life, after, sync))
    else:
        with_threads(folder, life, after, sync)
