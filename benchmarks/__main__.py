"""`python -m benchmarks`: measure, draw, and check the bars."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from . import broker_report, importing, purgatory_report, stream_report, timer_report
from .bars import check
from .batch import workload as batch
from .broker import BROKER
from .durable.report import report as durable_report
from .durable.workload import DURABLE
from .figures import draw
from .machine import compile_sources
from .purgatory import PURGATORY
from .replay.report import report as replay_report
from .replay.workload import REPLAY
from .report import DIFFERENT
from .results import Results
from .runner import Workload, run
from .service.report import report as service_report
from .service.workload import SERVICE
from .stream import STREAM
from .timer import TIMER

WORKLOADS = {
    workload.name: workload for workload in (TIMER, PURGATORY, BROKER, batch.BATCH, REPLAY, STREAM, DURABLE, SERVICE)
}

ONE_RUN = (
    "Every peer in one invocation, each part of the work in a fresh process, rounds interleaved, best of the rounds, "
    "garbage collector on. Progress goes to stderr, the tables to stdout."
)
Report = Callable[[Results, Sequence[int]], str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; its exit status."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Sojourn measured beside its peers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    timer = commands.add_parser(
        TIMER.name,
        help="add, cancel, extend, expire, churn, bulk, memory and expiry on a real clock",
        description=ONE_RUN,
    )
    limits = "sched stops at 100,000 and threading at 1,000"
    _workload_arguments(timer, TIMER, timer_report.report, f"timers pending (default: %(default)s); {limits}")
    purgatory = commands.add_parser(
        PURGATORY.name,
        help="operations beside Kafka's, waits beside asyncio's: complete, expire, memory and an open-loop load",
        description=ONE_RUN,
    )
    limits = "ways of waiting that need a task each stop at 100,000"
    _workload_arguments(purgatory, PURGATORY, purgatory_report.report, f"pending (default: %(default)s); {limits}")
    history = commands.add_parser(
        batch.BATCH.name,
        help="every condition over history: the local engine and Spark, beside DuckDB, Polars and Spark SQL by hand",
        description=ONE_RUN,
    )
    sizes = "operations (default: %(default)s)"
    _workload_arguments(history, batch.BATCH, batch.report, sizes, default="1000000", flags=("--n", "--ops"))
    history.add_argument("--events", type=_positive, metavar="N", help="default: three for each operation")
    replay = commands.add_parser(
        REPLAY.name,
        help="what a user waits for: cold commands from a log to written outcomes, beside DuckDB and Polars by hand",
        description=f"{ONE_RUN} Before anything is timed all peers must have written the same outcomes of a small log.",
    )
    sizes = "events (default: %(default)s)"
    _workload_arguments(replay, REPLAY, replay_report, sizes, default="10000000,100000000", flags=("--events",))
    stream = commands.add_parser(
        STREAM.name,
        help="a steady load and a burst on Spark, beside what one writes by hand, in Python and in Scala",
        description=ONE_RUN,
    )
    limits = "peers that run Python for each row stop at 10,000, others at 100,000"
    _workload_arguments(stream, STREAM, stream_report.report, f"pending (default: %(default)s); {limits}")
    durable = commands.add_parser(
        DURABLE.name,
        help="waits that survive: a hub with a folder, beside SQLite and Redis by hand",
        description=f"{ONE_RUN} 10,000,000 pending, in any case: that part takes minutes.",
    )
    _workload_arguments(durable, DURABLE, durable_report, "waits (default: %(default)s)", default="1000000")
    broker = commands.add_parser(
        BROKER.name,
        help="the broker's requests over a replicated log: produce acks=all, long polls, 10 to 10,000 partitions",
        description=ONE_RUN,
    )
    sizes = "partitions in the cluster (default: %(default)s)"
    _workload_arguments(broker, BROKER, broker_report.report, sizes, default="10,100,1000,10000")
    service = commands.add_parser(
        SERVICE.name,
        help="sojourn serve: single requests, batches, lateness on a stream, a start; beside Starlette and SQLite",
        description=ONE_RUN,
    )
    sizes = "each part has a size of its own"
    _workload_arguments(service, SERVICE, service_report, sizes, default="1000")
    start = commands.add_parser("import", help="what `import sojourn` adds to the start of a program")
    start.add_argument("--rounds", type=_positive, default=20, metavar="R", help="default: %(default)s")
    start.add_argument("--json", type=Path, metavar="FILE", help="write the rows with the machine and the commit")
    start.set_defaults(command=_import)
    chart = commands.add_parser("chart", help="draw a result file for the docs (needs matplotlib)")
    chart.add_argument("results", type=Path, metavar="FILE.json")
    chart.add_argument("picture", type=Path, metavar="OUT.svg", help="the ending chooses the format")
    chart.add_argument("--n", type=int, default=100_000, help="timers pending (default: %(default)s)")
    chart.set_defaults(command=_chart)
    bars = commands.add_parser("bars", help="what we promise, what was measured; status 1 if a bar fails")
    bars.add_argument("results", type=Path, metavar="FILE.json")
    bars.set_defaults(command=_bars)
    figures = commands.add_parser("figures", help="draw the tables of README and docs from the measured files")
    figures.add_argument("--check", action="store_true", help="write nothing; status 1 if a table is out of date")
    figures.set_defaults(command=_figures)
    inner = commands.add_parser("_child")  # how a workload starts itself; not for use by hand
    inner.add_argument("peer")
    inner.add_argument("workload", choices=list(WORKLOADS))
    inner.add_argument("part")
    inner.add_argument("n", type=int)
    inner.set_defaults(command=_child)
    return parser


def _workload_arguments(
    parser: argparse.ArgumentParser,
    workload: Workload,
    report: Report,
    sizes: str,
    default: str = "10000,100000,1000000",
    flags: Sequence[str] = ("--n",),
) -> None:
    parser.add_argument(*flags, dest="n", type=_sizes, default=default, metavar="N,...", help=sizes)
    parser.add_argument(
        "--peers",
        type=_names(workload.specs),
        default=",".join(workload.specs),
        metavar="NAME,...",
        help="default: all, which is %(default)s; one that is not installed is skipped with a line",
    )
    parser.add_argument(
        "--parts",
        type=_names(workload.parts),
        default=",".join(workload.parts),
        metavar="PART,...",
        help="default: %(default)s",
    )
    fewer = ", ".join(f"{part.max_rounds} for {name}" for name, part in workload.parts.items() if part.max_rounds < 100)
    parser.add_argument(
        "--rounds",
        type=_positive,
        default=5,
        metavar="R",
        help=f"default: %(default)s; half of it from 1,000,000 on, at most {fewer}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows with the machine and the commit")
    parser.set_defaults(command=partial(_measure, workload, report))


def _measure(workload: Workload, report: Report, options: argparse.Namespace) -> int:
    """Measure and report; status 1 if a peer broke (one that is merely missing is fine), or gave another answer."""
    compile_sources()
    if getattr(options, "events", None):
        os.environ[batch.EVENTS] = str(options.events)  # the children's too
    results = run(workload, options.n, options.peers, options.rounds, options.parts, options.json)
    if options.json is not None:
        results.save(options.json)
    text = report(results, options.n)
    print(text)
    return int(DIFFERENT in text or any(reason.startswith("FAILED") for reason in results.facts["absent"].values()))


def _import(options: argparse.Namespace) -> int:
    compile_sources()
    results = importing.measure(options.rounds)
    if options.json is not None:
        results.save(options.json)
    print(importing.report(results))
    return 0


def _chart(options: argparse.Namespace) -> int:
    try:
        draw = import_module(".chart", __package__).draw  # the only command that needs matplotlib
    except ModuleNotFoundError as missing:
        raise SystemExit(f"{missing.name} is not installed; pip install 'sojourn[bench]'") from None
    draw(Results.load(options.results), options.picture, options.n)
    return 0


def _bars(options: argparse.Namespace) -> int:
    text, failed = check(Results.load(options.results))
    print(text)
    return int(failed)


def _figures(options: argparse.Namespace) -> int:
    changed = draw(check=options.check)
    for page in changed:
        print(f"{page.name}: {'out of date: python -m benchmarks figures' if options.check else 'drawn'}")
    return int(options.check and bool(changed))


def _child(options: argparse.Namespace) -> int:
    workload = WORKLOADS[options.workload]
    print(json.dumps(workload.work(workload.specs[options.peer], options.part, options.n)))
    return 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def _sizes(text: str) -> list[int]:
    """`10000,100000` as numbers, ascending; underscores are welcome."""
    return sorted({_positive(part) for part in text.split(",")})


def _names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A parser for some of the `known` names, kept in the order of `known`."""
    names = list(known)

    def parse(text: str) -> list[str]:
        asked = text.split(",")
        unknown = [name for name in asked if name not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} unknown; choose from {', '.join(names)}")
        return [name for name in names if name in asked]

    return parse


if __name__ == "__main__":
    sys.exit(main())
