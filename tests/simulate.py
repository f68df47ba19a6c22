"""`python -m tests.simulate programs N [--seed S]`, `clusters` or `crashes`: N random ones, held to what was promised.

Programs run against a model of the purgatory; clusters of brokers run with faults; crashes are programs for a durable
hub that is killed and restarted, on a disk that fails. A failure says its seed.
"""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent))

from durable.simulation import simulate as crash
from purgatory.simulation import simulate as run_program
from sojourn.kafka.simulation import Simulation, harsh_scenario


def run_programs(seeds: Iterable[int]) -> Iterator[int]:
    for seed in seeds:
        yield seed
        run_program(seed)


def run_clusters(seeds: Iterable[int]) -> Iterator[int]:
    for seed in seeds:
        yield seed
        Simulation(harsh_scenario(seed)).run()


def run_crashes(seeds: Iterable[int]) -> Iterator[int]:
    """One folder for all, and garbage is looked for after many: either would take as long as the programs do."""
    logging.disable()  # there is much to say
    gc.collect()
    gc.freeze()
    gc.disable()
    with TemporaryDirectory() as folder:
        for seed in seeds:
            yield seed
            crash(seed, folder)
            if not seed % COLLECT_EVERY:
                gc.collect()


COLLECT_EVERY = 100
RUNS: dict[str, Callable[[Iterable[int]], Iterator[int]]] = {
    "programs": run_programs,
    "clusters": run_clusters,
    "crashes": run_crashes,
}
CHUNK = {"programs": 5_000, "clusters": 100, "crashes": 500}


def run_chunk(what: str, first: int, end: int) -> str | None:
    """What the first seed that fails has to say, if one does."""
    seed = first
    try:
        for seed in RUNS[what](range(first, end)):  # noqa: B007  (the one that is being run)
            pass
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
