"""`python -m tests.durable.kills N [--seed S]`: a process under load is killed N times, and held to what it answered.

The oracle reads the process's pipe, so it remembers what was asked, answered and told up to the very kill. After each
restart it opens the folder itself and compares; then the next process goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

import sojourn as sj  # noqa: E402

GUARD_S = 60
CAUSES = {"completed": "signal", "cancelled": "cancel"}


class Oracle:
    """What is known from outside: of each wait the last thing that was answered, and perhaps one that was not."""

    def __init__(self) -> None:
        self.asked: dict[tuple[str, int], list[Any]] = {}
        """Calls without an answer."""
        self.answered: dict[str, list[tuple[str, Any]]] = {}
        """By wait: the verbs that were answered, in order, with their answers."""
        self.told: dict[int, tuple[str, str]] = {}
        self.torn_bytes = 0

    def hear(self, line: str) -> None:
        what, *rest = json.loads(line)
        match what:
            case "ask":
                caller, n, *asked = rest
                self.asked[caller, n] = asked
            case "ok":
                caller, n, answer = rest
                verb, wait_id, *_ = self.asked.pop((caller, n))
                self.answered.setdefault(wait_id, []).append((verb, answer))
            case "told":
                number, wait_id, outcome = rest
                assert self.told.setdefault(number, (wait_id, outcome)) == (wait_id, outcome), f"{number} told twice"
            case "ready":
                self.torn_bytes += rest[0]

    def check(self, folder: str) -> int:
        """Open the folder as a user would; the number of the last outcome."""
        with sj.Hub("oracle", data=folder) as hub:  # type: ignore[call-arg]
            outcomes = list(hub.outcomes())  # type: ignore[attr-defined]
            pending = {wait.id: wait for wait in hub.list()}
        assert [outcome.number for outcome in outcomes] == list(range(1, len(outcomes) + 1))
        by_number = {outcome.number: (outcome.operation_id, outcome.outcome) for outcome in outcomes}
        for number, told in self.told.items():
            assert by_number.get(number) == told, f"outcome {number} was {told}, and is {by_number.get(number)}"
        ended = {outcome.operation_id: outcome for outcome in outcomes}
        assert len(ended) == len(outcomes), "a wait has two outcomes"
        assert ended.keys().isdisjoint(pending), "a wait has an outcome and is pending"
        maybe = {asked[1]: asked[0] for asked in self.asked.values()}
        for wait_id, calls in self.answered.items():
            self.check_wait(wait_id, calls, maybe.get(wait_id), ended.get(wait_id), pending.get(wait_id))
        unknown = (ended.keys() | pending) - self.answered.keys() - maybe.keys()
        assert not unknown, f"nobody asked for {unknown}"
        for wait_id, verb in maybe.items():
            self.settle(wait_id, verb, ended.get(wait_id), wait_id in pending)
        self.asked = {}
        return len(outcomes)

    def settle(self, wait_id: str, verb: str, ended: Any, is_pending: bool) -> None:
        """What was interrupted has happened after all, or not: from now on that stays so."""
        ending = None if ended is None else ended.outcome
        if (verb == "wait" and (ended or is_pending)) or (verb, ending) in (
            ("signal", "completed"),
            ("cancel", "cancelled"),
        ):
            self.answered.setdefault(wait_id, []).append((verb, True))

    def check_wait(
        self, wait_id: str, calls: list[tuple[str, Any]], maybe: str | None, ended: Any, pending: Any
    ) -> None:
        assert ended is not None or pending is not None, f"{wait_id} was answered and is gone: {calls}"
        verbs = {verb for verb, answer in calls if answer}
        about = f"{wait_id}: {calls}, perhaps {maybe}, and is {ended or pending}"
        ending = None if ended is None else ended.outcome
        if "signal" in verbs:
            assert ending == "completed", about
        elif "cancel" in verbs:
            assert ending == "cancelled", about
        elif ending in CAUSES:
            assert CAUSES[ending] == maybe, about
        last = ended or pending
        assert last.payload == [wait_id], about
        if "extend" in verbs:
            assert last.deadline - last.opened_at >= 7_200_000, about
        if ended is not None and ended.outcome == "expired":
            assert ended.at == ended.deadline, about


def kill_once(folder: str, life: int, oracle: Oracle, random: Random, sync: str) -> None:
    """One life: started, let live for some lines, killed, read to the end of its pipe."""
    command = [sys.executable, "-m", "durable.victim", folder, str(life), str(len(oracle.told)), sync]
    process = subprocess.Popen(
        command,
        cwd=TESTS,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    lines = random.choice((2, random.randrange(3, 60), random.randrange(60, 600)))
    try:
        for line in process.stdout:
            oracle.hear(line)
            lines -= 1
            if not lines:
                break
        process.kill()
        rest = process.stdout.read()
        for line in rest.splitlines(keepends=True):
            if line.endswith("\n"):  # the last one may be cut off
                oracle.hear(line)
        assert process.wait(GUARD_S) == -9, process.stderr.read()
    finally:
        process.kill()
        process.wait(GUARD_S)
        process.stdout.close()
        process.stderr.close()


def run(kills: int, seed: int, folder: str) -> Oracle:
    """A new folder now and then, so that each check stays quick; `AssertionError` if something is not as answered."""
    random, oracle = Random(seed), Oracle()
    for life in range(kills):
        if life % 40 == 0:
            place, oracle = os.path.join(folder, str(life)), Oracle()
        kill_once(place, life, oracle, random, "os" if life % 80 >= 60 else "always")
        last = oracle.check(place)
        assert last >= len(oracle.told), f"{len(oracle.told)} were told, and {last} are in the log"
    return oracle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**12))
    options = parser.parse_args()
    print(f"{options.kills:,} kills from seed {options.seed}", flush=True)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run(options.kills, options.seed, folder)
    print(f"all {options.kills:,} as answered, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
