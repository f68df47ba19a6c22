"""What is measured of one peer, each part in a fresh folder. All figures are nanoseconds, unless they say otherwise."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..measure import quantile
from ..memory import resident
from .store import HasLog, Peer, Store

BATCH = 1_000
CALLERS = 64
CALLS = 20_000
"""Waits of all callers together, at most."""
BULK = 200_000
"""Waits in batches, at most."""
SINGLES = 400
SIGNALS = 50_000
"""Signals beside so many pending, at most."""
MEMORY = 128 * 2**20
"""For waits, where the memory of the process is measured: there are other things in it, and upkeep."""

Row = dict[str, Any]


def key_of(number: int) -> str:
    """Keys that are spread as hashes are."""
    return f"order-{number * 2654435761 % 2**32:08x}"


def batches(n: int) -> Iterator[list[str]]:
    for start in range(0, n, BATCH):
        yield [key_of(number) for number in range(start, min(n, start + BATCH))]


def timed(section: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    section()
    return time.perf_counter_ns() - start


def callers(peer: Peer, folder: Path, n: int) -> list[Row]:
    """64 threads, each waiting for its acknowledgement."""
    store, each = peer.open(folder), max(1, min(n, CALLS) // CALLERS)

    def call(caller: int) -> None:
        for i in range(each):
            store.wait(key_of(caller * each + i))

    threads = [threading.Thread(target=call, args=(caller,)) for caller in range(CALLERS)]
    ns = timed(lambda: _run(threads))
    assert store.pending() == CALLERS * each
    store.close()
    return [{"op": "wait_64", "ns": ns / (CALLERS * each)}]


def hand_off(peer: Peer, folder: Path, n: int) -> list[Row]:
    """As many threads in a ring, each waking the next: what an answer costs if there is nothing to do."""
    each = max(1, min(n, CALLS) // CALLERS)
    gates = [threading.Lock() for _ in range(CALLERS)]
    for gate in gates:
        gate.acquire()

    def pass_on(place: int) -> None:
        for _ in range(each):
            gates[place].acquire()
            gates[(place + 1) % CALLERS].release()

    threads = [threading.Thread(target=pass_on, args=(place,)) for place in range(CALLERS)]
    gates[0].release()
    return [{"op": "hand_off", "ns": timed(lambda: _run(threads)) / (CALLERS * each)}]


def single(peer: Peer, folder: Path, n: int) -> list[Row]:
    """One caller; and beside it, in turns, one `fdatasync` of as much in the same folder."""
    store = peer.open(folder)
    fd = os.open(folder / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    acknowledged, synced = [], []
    for i in range(min(n, SINGLES)):
        acknowledged.append(timed(lambda i=i: store.wait(key_of(i))))  # type: ignore[misc]
        synced.append(timed(lambda: _write_through(fd)))
    os.close(fd)
    store.close()
    return [_quantiles("ack_1", acknowledged), _quantiles("fdatasync", synced)]


def bulk(peer: Peer, folder: Path, n: int) -> list[Row]:
    """In batches of 1,000: all open, then all signalled."""
    store, n = peer.open(folder), min(n, BULK)
    opened = timed(lambda: _open(store, n))
    told = 0

    def signal() -> None:
        nonlocal told
        told = sum(store.signal_many(keys) for keys in batches(n))

    signalled = timed(signal)
    assert told == n, told
    store.close()
    return [{"op": "wait_many", "ns": opened / n}, {"op": "signal_many", "ns": signalled / n}]


def restart(peer: Peer, folder: Path, n: int) -> list[Row]:
    """From the death of the process to all of n at hand again."""
    child = os.fork()
    if child == 0:
        store = peer.open(folder)
        _open(store, n)
        peer.abandon(store)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    stores: list[Store] = []
    ns = timed(lambda: stores.append(peer.open(folder)))
    (store,) = stores
    assert store.pending() == n
    store.close()
    return [{"op": "restart", "ns": ns}]


def cancel(peer: Peer, folder: Path, n: int) -> list[Row]:
    """All of one rule, in one call."""
    store = peer.open(folder)
    _open(store, n)
    cancelled = 0

    def cancel_all() -> None:
        nonlocal cancelled
        cancelled = store.cancel_all()

    ns = timed(cancel_all)
    assert (cancelled, store.pending()) == (n, 0)
    records = store.records("cancel_where", "cancel") if isinstance(store, HasLog) else None
    store.close()
    return [{"op": "cancel_all", "ns": ns, "records": records}]


def pending(peer: Peer, folder: Path, n: int) -> list[Row]:
    """Beside n pending: memory, and signals in batches, to waits at random and to keys that nobody waits on."""
    store = peer.open(folder, memory=MEMORY)
    opened = timed(lambda: _open(store, n))
    if isinstance(store, HasLog):
        store.settle()
    count = min(SIGNALS, n // 2) // BATCH * BATCH or n // 2
    chosen = random.Random(1).sample(range(n), count)
    known = timed(lambda: _signal(store, [key_of(number) for number in chosen], count))
    unknown = timed(lambda: _signal(store, [f"nobody-{number}" for number in range(count)], 0))
    row = {"op": "pending", "ns": opened / n, "bytes": resident(os.getpid()), "peak_bytes": _peak_bytes()}
    store.close()
    return [row, {"op": "signal_known", "ns": known / count}, {"op": "signal_unknown", "ns": unknown / count}]


def _run(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _write_through(fd: int) -> None:
    os.write(fd, bytes(100))
    os.fdatasync(fd)


def _open(store: Store, n: int) -> None:
    for keys in batches(n):
        store.wait_many(keys)


def _signal(store: Store, keys: list[str], expected: int) -> None:
    told = sum(store.signal_many(keys[i : i + BATCH]) for i in range(0, len(keys), BATCH))
    assert told == expected, (told, expected)


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024


def _quantiles(op: str, ns: Sequence[int]) -> Row:
    ordered = sorted(ns)
    return {"op": op, "ns": quantile(ordered, 0.5), "p99_ns": quantile(ordered, 0.99)}
