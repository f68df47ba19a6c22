"""`python -m sojourn.kafka`: a cluster for a simulated hour, and what waited in it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..errors import SojournError
from .operation_log import Tee, open_log
from .simulation import FAULTS, BrokenPromiseError, Scenario, Simulation, fault_names
from .simulation.summary import Summary


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report; the exit status is 1 if a promise was broken, 2 if the request is invalid."""
    options = _parser().parse_args(arguments)
    try:
        scenario = Scenario(
            seed=options.seed,
            faults=fault_names(options.faults),
            duration_ms=round(options.minutes * 60_000),
            brokers=options.brokers,
            partitions=options.partitions,
            min_insync=min(2, options.brokers),
        )
        return run(scenario, options.log)
    except (SojournError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sojourn.kafka",
        description="Run a seeded cluster in virtual time, with clients and faults, and say what waited, how long, and "
        "what expired. What must hold (no acknowledged record lost, every request answered once and in time ...) is "
        "checked all the while.",
    )
    parser.add_argument("--seed", type=int, default=0, help="the same seed, the same run (default: %(default)s)")
    parser.add_argument(
        "--faults", default="all", metavar="NAME,...", help=f"of {', '.join(FAULTS)}; all (the default), or none"
    )
    parser.add_argument("--minutes", type=_positive, default=60, help="virtual time (default: %(default)s)")
    parser.add_argument("--brokers", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--partitions", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the operation log: .jsonl or .parquet")
    return parser


def _positive(text: str) -> float:
    minutes = float(text)
    if not 0 < minutes < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return minutes


def run(scenario: Scenario, path: Path | None) -> int:
    """Run it, write its operation log if a path is given, and print what waited; 1 if a promise was broken."""
    summary = Summary()
    began = time.monotonic()
    with Tee(summary) if path is None else Tee(summary, open_log(path)) as log:
        simulation = Simulation(scenario, log)
        try:
            simulation.run()
        except BrokenPromiseError as broken:
            print(f"{broken}\nagain: python -m sojourn.kafka --seed {scenario.seed} ...", file=sys.stderr)
            return 1
    took_s = time.monotonic() - began
    print(_headline(scenario, simulation))
    print(f"\n{summary}\n")
    print(_results(simulation))
    total_ms = scenario.duration_ms + scenario.settle_ms
    print(
        f"{total_ms / 60_000:,.0f} virtual minutes in {took_s:.1f} s: {total_ms / 1000 / took_s:,.0f} times real time"
    )
    if path is not None:
        print(f"operation log: {path}, {path.stat().st_size:,} bytes")
    return 0


def _headline(scenario: Scenario, simulation: Simulation) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in simulation.faults.happened.items()) or "none"
    members = ", members die" if "member" in scenario.faults else ""
    size = f"{scenario.brokers} brokers, {scenario.partitions} partitions, min.insync.replicas {scenario.min_insync}"
    return f"{size}, seed {scenario.seed}\nfaults: {faults}{members}"


def _results(simulation: Simulation) -> str:
    audit, network = simulation.audit, simulation.cluster.network
    return (
        f"{audit.acknowledged:,} records acknowledged by all in sync and {audit.consumed:,} read, none lost\n"
        f"{network.sent:,} messages between brokers, {network.lost:,} lost"
    )


if __name__ == "__main__":
    sys.exit(main())
