"""`python -m tests.kafka.simulate N [--seed S]`: N clusters with faults; a failure says its seed."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from random import SystemRandom

from sojourn.kafka.simulation import Simulation, harsh_plan

CHUNK = 500


def simulate_all(first: int, count: int) -> str | None:
    """What the first seed that fails has to say, if one does."""
    for seed in range(first, first + count):
        try:
            Simulation(harsh_plan(seed)).run()
        except Exception as failure:
            again = f"python -m tests.kafka.simulate 1 --seed {seed}"
            return f"seed {seed}: {type(failure).__name__}: {failure}\nagain: {again}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**12))
    options = parser.parse_args()
    print(f"{options.count:,} clusters from seed {options.seed}", flush=True)
    begun = time.monotonic()
    starts = range(options.seed, options.seed + options.count, CHUNK)
    counts = [min(CHUNK, options.seed + options.count - start) for start in starts]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for failure in pool.map(simulate_all, starts, counts):
            if failure is not None:
                print(failure)
                pool.shutdown(cancel_futures=True)
                return 1
    print(f"all kept their promises, in {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
