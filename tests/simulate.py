"""`python -m tests.simulate programs N [--seed S]`, `clusters` or `crashes`: N random ones, held to what was promised.

Programs run against a model of the purgatory; clusters of brokers run with faults; crashes are programs for a durable
hub that is killed and restarted, on a disk that fails. A failure says its seed.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import SystemRandom

sys.path.insert(0, str(Path(__file__).parent))

from durable.simulation import simulate as crash
from purgatory.simulation import simulate as run_program
from sojourn.kafka.simulation import Simulation, harsh_plan


def run_crashes(seed: int) -> None:
    logging.disable()  # there is much to say
    crash(seed)


def run_cluster(seed: int) -> None:
    Simulation(harsh_plan(seed)).run()


RUNS: dict[str, Callable[[int], object]] = {"programs": run_program, "clusters": run_cluster, "crashes": run_crashes}
CHUNK = {"programs": 5_000, "clusters": 100, "crashes": 100}


def run_chunk(what: str, first: int, end: int) -> str | None:
    """What the first seed that fails has to say, if one does."""
    for seed in range(first, end):
        try:
            RUNS[what](seed)
        except Exception as failure:
            again = f"python -m tests.simulate {what} 1 --seed {seed}"
            return f"seed {seed}: {type(failure).__name__}: {failure}\nagain: {again}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=RUNS)
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**12))
    options = parser.parse_args()
    print(f"{options.count:,} {options.what} from seed {options.seed}", flush=True)
    begun, end = time.monotonic(), options.seed + options.count
    starts = range(options.seed, end, CHUNK[options.what])
    ends = [min(start + CHUNK[options.what], end) for start in starts]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for done, failure in zip(ends, pool.map(run_chunk, [options.what] * len(ends), starts, ends), strict=True):
            if failure is not None:
                print(failure)
                pool.shutdown(cancel_futures=True)
                return 1
            print(f"\r{done - options.seed:,}", end="", file=sys.stderr, flush=True)
    print(f"\rall {options.count:,} as promised, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
