"""The tables of README and docs, drawn from the measured files: `python -m benchmarks figures`; --check only compares.

A page has a line `<!-- figures: NAME -->` and, below its table, `<!-- end of figures -->`: what stands between is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from .replay.report import gib, seconds
from .results import Results
from .stream import PHASES, ROWS
from .table import ratio

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured"
PAGES = (ROOT / "README.md", ROOT / "docs" / "explanation" / "how-fast.md")

_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.S)
_N = 100_000

TIMERS = {
    "asyncio": "asyncio `call_later`",
    "uvloop": "uvloop `call_later`",
    "gevent": "gevent timer",
    "rloop": "rloop `call_later`",
    "heapq": "heapq, lazy deletion",
    "kafka": "Kafka's `SystemTimer` on the JVM",
}
WAITS = {
    "hub-future": "hub, an asyncio future",
    "hub-task": "`AsyncHub`, a task awaiting each",
    "by-hand": "by hand: dict of futures, `call_later`",
    "by-hand-callback": "by hand: dict of callbacks, `call_later`",
    "wait_for": "`asyncio.wait_for` on a future, a task each",
}
CONDITIONS = {
    "seen": "`seen`",
    "count": "`seen(times=2)`",
    "distinct": '`seen(times=2, distinct="source")`',
    "sum": "`total`",
    "reached": "`reached`",
    "parts": "`all_of`, `any_of`, cancellation",
    "heartbeat": "keep-alive",
    "many_keys": "operations on three keys each",
}
COMMANDS = {
    "sojourn-local": "`sojourn replay --engine local`",
    "sojourn-local-report": "the same with `--report` and `--what-if`",
    "duckdb": "DuckDB by hand",
    "duckdb-4g": "DuckDB by hand, held to 4 GiB",
    "polars": "Polars by hand",
    "sojourn-spark": "`sojourn replay` on Spark, `local[2]`",
    "sojourn-spark-report": "the same with `--report` and `--what-if`",
}
SERVICES = ("sojourn", "starlette_sqlite")
ENGINES = ("sojourn-local", "duckdb", "polars", "sojourn-spark", "spark-sql")


def draw(*, check: bool = False) -> list[Path]:
    """Write the tables into their pages; those that were (or, with `check`, would be) changed."""
    changed = []
    for page in PAGES:
        text = page.read_text("utf-8")
        drawn = _BLOCK.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)
        if drawn != text:
            changed.append(page)
            if not check:
                page.write_text(drawn, "utf-8")
    return changed


def timers() -> str:
    """Nanoseconds for ours; for the others, how many times as long."""
    found, ops = _measured("timer"), ("add", "cancel", "expire", "churn")
    ours = {op: found.get("sojourn", _N, op) for op in ops}
    rows = [["**sojourn**", *(f"**{_digits(ours[op])}**" for op in ops), *_held(found, "sojourn")]]
    bulk = [_digits(found.get("sojourn", _N, op)) for op in ("bulk_add", "bulk_cancel")]
    rows.append(["sojourn, a batch", *bulk, "", "", *["", ""]])
    rows += [
        [name, *(ratio(found.get(peer, _N, op), ours[op]) for op in ops), *_held(found, peer)]
        for peer, name in TIMERS.items()
    ]
    return _markdown(["timer", *ops, "bytes pending", "held after cancelling all"], rows)


def waits() -> str:
    """Nanoseconds for a callback of the hub; for other ways of waiting, how many times as long."""
    found, ops = _measured("purgatory"), ("wait", "signal", "wait_signal", "wait_expire")

    def figure(peer: str, op: str) -> float | None:
        return found.get(peer, _N, op, workload="purgatory")

    ours = {op: figure("hub", op) for op in ops}
    rows = [["**hub, a callback**", *(f"**{_digits(ours[op])}**" for op in ops)]]
    rows += [[name, *(ratio(figure(peer, op), ours[op]) for op in ops)] for peer, name in WAITS.items()]
    return _markdown(["a wait with a deadline", "wait", "signal", "both", "wait, then expire"], rows)


def history() -> str:
    """Millions of events per second."""
    found = _measured("batch")
    times = {peer: [_of_batch(found, peer, op) for op in CONDITIONS] for peer in ENGINES}
    rows = [
        [name, *(f"{1000 / times[peer][place]:.2g}" for peer in ENGINES)]
        for place, name in enumerate(CONDITIONS.values())
    ]
    total = {peer: sum(times[peer]) for peer in ENGINES}
    rows.append(["time for all", *(ratio(total[peer], total["sojourn-local"]) for peer in ENGINES)])
    head = ["condition", "`local`", "DuckDB", "Polars", "on Spark, `local[2]`", "Spark SQL"]
    return _markdown(head, rows)


def replays() -> str:
    """Seconds and gibibytes of cold commands; nothing, as long as they have not been measured."""
    if not _is_measured("replay"):
        return ""
    found = _measured("replay")
    sizes = sorted({n for peer in COMMANDS for n in found.sizes(peer, "replay")})
    head = ["cold, from file to file", *(cell for n in sizes for cell in (f"{n:,} events, s", "GiB"))]
    rows = [
        [name, *(_short(figure(found, peer, n)) for n in sizes for figure in (seconds, gib))]
        for peer, name in COMMANDS.items()
        if found.sizes(peer, "replay")
    ]
    caption = (
        "From a log in Parquet to outcomes in Parquet and counts (`python -m benchmarks replay`): seconds from its\n"
        "start to its end, and peak memory of all its processes, on two cores:"
    )
    return f"{caption}\n\n{_markdown(head, rows)}"


def streams() -> str:
    """Events per second."""
    found = _measured("stream")
    sizes = [n for n in found.sizes("sojourn", "stream") if found.get("sojourn", n, "steady", workload="stream")]
    rows = [
        [
            f"{n:,}",
            *(_per_second(found.get(peer, n, "steady", workload="stream")) for peer in ("sojourn", "scala", "rows")),
        ]
        for n in sizes
    ]
    return _markdown(["pending", "sojourn, events/s", "`transformWithState` in Scala", "in Python, on Rows"], rows)


def micro_batch() -> str:
    """Where a micro-batch spends its time, as Spark reports it; nothing if that has not been measured."""
    found = _measured("stream")
    whole = found.get("sojourn", _N, "steady", workload="stream")
    times = {op: found.get("sojourn", _N, op, workload="stream") for op in PHASES}
    if not whole or None in times.values():
        return ""
    rows = [[op, f"{(ns or 0) * ROWS / 1e6:,.0f}", f"{(ns or 0) / whole:.0%}"] for op, ns in times.items()]
    caption = f"A micro-batch of {ROWS:,} events with {_N:,} operations pending takes {whole * ROWS / 1e6:,.0f} ms:"
    return f"{caption}\n\n{_markdown(['where', 'ms', 'share'], rows)}"


def more_rules() -> str:
    """Ten rules beside one, and many pending; nothing if that has not been measured."""
    found = _measured("stream")
    one = found.get("sojourn", _N, "steady", workload="stream")
    named = {"ten_kinds": "ten rules that share the events out", "ten_rules": "ten rules that all name every event"}
    measured = {text: found.get(peer, _N, "steady", workload="stream") for peer, text in named.items()}
    rows = [[text, ratio(ns, one)] for text, ns in measured.items() if ns]
    return _markdown(["100,000 pending", "time, beside one rule"], rows) if rows else ""


def durable() -> str:
    """What is on the disk when a call returns; nothing, as long as it has not been measured."""
    if not _is_measured("durable"):
        return ""
    found, n = _measured("durable"), 1_000_000

    def of(peer: str, op: str, field: str = "ns", size: int = n) -> float | None:
        return found.get(peer, size, op, field, workload="durable")

    def row(name: str, op: str, shown: Callable[[float | None], str]) -> list[str]:
        ours = of("sojourn", op)
        return [name, shown(ours), *(ratio(of(peer, op), ours) for peer in ("sqlite", "redis"))]

    rows = [
        row("waits per second, 64 threads, each waiting for its answer", "wait_64", _per_second),
        row("waits per second, 64 asyncio tasks, each awaiting its answer", "wait_64_tasks", _per_second),
        row("waits per second, in batches of 1,000", "wait_many", _per_second),
        row("signals per second, in batches of 1,000", "signal_many", _per_second),
        row("one caller until it is answered, ms", "ack_1", _milliseconds),
        row("restart with 1,000,000 pending, s", "restart", _seconds),
        row("cancel 1,000,000 by rule, s", "cancel_all", _seconds),
    ]
    table = _markdown(["", "sojourn", "SQLite by hand", "Redis by hand"], rows)
    few, many = (of("sojourn", "signal_known", size=size) for size in (_N, 100 * _N))
    sync, signal = (_milliseconds(of("sojourn", op)) for op in ("fdatasync", "signal_in_herd"))
    slowest = _milliseconds(of("sojourn", "signal_in_herd", "p99_ns"))
    resident = _gib(of("sojourn", "pending", "bytes", 100 * _N))
    return (
        f"{table}\n\n"
        f"One `fdatasync` takes {sync} ms there. While 1,000,000 waits that were due in the same millisecond are\n"
        f"told, signals are answered in {signal} ms, 99 of 100 in {slowest} ms. Beside 10,000,000 pending, in\n"
        f"{resident} GiB of memory, a signal takes {ratio(many, few)} as long as beside 100,000."
    )


def service() -> str:
    """What a service answers over HTTP; nothing, as long as it has not been measured."""
    if not _is_measured("service"):
        return ""
    found = _measured("service")

    def of(op: str, n: int, field: str = "ns", peer: str = "sojourn") -> float | None:
        return found.get(peer, n, op, field, workload="service")

    put, by_hand = of("put", 64), of("put", 64, peer="starlette_sqlite")
    rows = [
        ["waits per second, one per request, 64 connections", _per_second(put), ratio(by_hand, put)],
        ["the same, until one is answered, p99, ms", *(_short(of("put", 64, "p99_ms", peer)) for peer in SERVICES)],
        ["waits per second, in batches of 1,000", _per_second(of("batch", 1_000)), ""],
        ["5,000 expiries per second: late on an event stream, p99, ms", _short(of("lateness", 5_000, "p99_ms")), ""],
        ["from its start until ready, 1,000,000 pending, s", _seconds(of("start", 1_000_000)), ""],
    ]
    return _markdown(["", "sojourn serve", "Starlette and SQLite by hand"], rows)


def summary() -> str:
    """The first table of the README; what the kernel does alone is in it only until commands have been measured."""
    timer, purgatory, batch, stream = (_measured(name) for name in ("timer", "purgatory", "batch", "stream"))

    def times(found: Results, workload: str, mine: str, peer: str, op: str, n: int = _N) -> str:
        return ratio(found.get(peer, n, op, workload=workload), found.get(mine, n, op, workload=workload))

    add, cancel, churn = (times(timer, "timer", "sojourn", "asyncio", op) for op in ("add", "cancel", "churn"))
    both = [times(purgatory, "purgatory", "hub", peer, "wait_signal") for peer in ("wait_for", "by-hand")]
    total = {peer: sum(_of_batch(batch, peer, op) for op in CONDITIONS) for peer in ENGINES}
    local = [ratio(total[peer], total["sojourn-local"]) for peer in ("duckdb", "polars")]
    scala = times(stream, "stream", "sojourn", "scala", "steady")
    spark = ratio(total["spark-sql"], total["sojourn-spark"])
    kernel = [
        ["the kernel over history, eight conditions", f"DuckDB by hand: {local[0]} as long, Polars: {local[1]}"],
        ["the same on Spark, `local[2]`", f"Spark SQL by hand: {spark} as long"],
    ]
    rows = [
        ["a timer, 100,000 pending", f"asyncio: adding {add}, cancelling {cancel}, both in turns {churn} as long"],
        [
            "a wait and its signal in the hub",
            f"`asyncio.wait_for`: {both[0]} as long; a dict of futures by hand: {both[1]}",
        ],
        *([] if _is_measured("replay") else kernel),
        ["a stream, 100,000 pending", f"Scala's `transformWithState`: {scala} as long"],
    ]
    return _markdown(["what", "beside"], rows, right=False)


TABLES: dict[str, Callable[[], str]] = {
    "timers": timers,
    "waits": waits,
    "history": history,
    "replays": replays,
    "streams": streams,
    "micro_batch": micro_batch,
    "more_rules": more_rules,
    "durable": durable,
    "service": service,
    "summary": summary,
}


def _measured(name: str) -> Results:
    return Results.load(MEASURED / f"{name}.json")


def _is_measured(name: str) -> bool:
    return (MEASURED / f"{name}.json").exists()


def _of_batch(found: Results, peer: str, op: str) -> float:
    value = found.get(peer, 1_000_000, op, workload="batch")
    if value is None:
        raise SystemExit(f"batch.json has no {op} of {peer}; measure again: python -m benchmarks batch")
    return value


def _held(found: Results, peer: str) -> list[str]:
    return [_digits(found.get(peer, 1_000_000, op, "bytes")) for op in ("bytes_pending", "bytes_held")]


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _per_second(ns: float | None) -> str:
    return "" if ns is None else f"{round(1e9 / ns, -3):,.0f}"


def _milliseconds(ns: float | None) -> str:
    return "" if ns is None else f"{ns / 1e6:.0f}" if ns >= 1e7 else f"{ns / 1e6:.2g}"


def _seconds(ns: float | None) -> str:
    return "" if ns is None else f"{ns / 1e9:.2g}"


def _gib(size: float | None) -> str:
    return "" if size is None else f"{size / 2**30:.2f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
    line = ["---", *["--:" if right else "---"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, line, *rows])
