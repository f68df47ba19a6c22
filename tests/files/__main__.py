"""`python -m tests.files N [--seed S] [--format F] [--streams K]`: N generated logs through every engine.

Each goes through this process and through Spark, and every K-th (10) as a stream too. Those that fail are told with
their seed, and what all rows became is counted at the end.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from files.compare import checked_log
from files.generate import FORMATS, generate
from files.session import small_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(spark: SparkSession, seed: int, format: str | None, as_stream: bool) -> Counter[str]:
    """How many rows became what; `AssertionError` if an engine differs."""
    with tempfile.TemporaryDirectory(prefix="sojourn-files-") as scratch:
        log = generate(seed, Path(scratch) / "log", spark, format)
        try:
            checked_log(spark, log, Path(scratch), seed % 2 * 999 + 1 if as_stream else None)
        except Exception as error:
            error.add_note(log.about + "; rules " + ", ".join(rule.name for rule in log.rules))
            raise
        aside = sum(bool(row.useless()) for row in log.rows)
        return Counter({"logs": 1, "rows": len(log.rows), "set aside": aside, "streams": as_stream and log.can_stream})


def _told(failure: Exception) -> list[str]:
    """Without the stack traces of Java."""
    return [line for line in str(failure).splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**9))
    parser.add_argument("--format", choices=FORMATS)
    parser.add_argument("--streams", type=int, default=10, metavar="K")
    options = parser.parse_args()
    print(f"{options.count:,} logs from seed {options.seed}", flush=True)
    warnings.simplefilter("ignore", FutureWarning)
    begun, done, failed = time.monotonic(), Counter[str](), []
    scratch = tempfile.mkdtemp(prefix="sojourn-spark-")
    spark = small_session(Path(scratch))
    for seed in range(options.seed, options.seed + options.count):
        try:
            done += run(spark, seed, options.format, seed % options.streams == 0)
        except Exception as failure:
            failed.append(seed)
            told = "\n  ".join([*_told(failure), *getattr(failure, "__notes__", [])])
            again = f"make files N=1 SEED={seed}" + f" FORMAT={options.format}" * bool(options.format)
            print(f"\rseed {seed}: {type(failure).__name__}: {told}\nagain: {again}", flush=True)
        print(f"\r{seed - options.seed + 1:,}", end="", file=sys.stderr, flush=True)
    spark.stop()
    shutil.rmtree(scratch, ignore_errors=True)
    counts = ", ".join(f"{count:,} {what}" for what, count in done.items())
    print(f"\r{counts}, in {time.monotonic() - begun:.0f} s; failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
