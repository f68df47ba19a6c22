"""The stream workload: events through Spark Structured Streaming, by ours and by what one writes by hand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .child import UnavailableError
from .runner import Part, Spec, Workload, by_name

SLOW_N = 10_000
"""Pending with peers that run Python for each row; more would only take longer."""

LIGHT = 100
"""Events per second of the part `latency`, in the place of what is pending."""

SPECS = by_name(
    Spec("sojourn"),
    Spec("ten_kinds", max_n=100_000),
    Spec("ten_rules", max_n=100_000),
    Spec("scala", max_n=100_000),
    Spec("join", max_n=100_000, parts=("load",)),
    Spec("rows", max_n=SLOW_N, parts=("load",)),
    Spec("frames", max_n=SLOW_N, parts=("load",)),
    Spec("apply_in_pandas", max_n=SLOW_N, parts=("load",)),
    Spec("pyflink", parts=("load",)),
)
SLOW = ("rows", "frames", "apply_in_pandas")
WRONG = ("join",)
"""Peers whose answer is another: a row for each payment."""
RULES = {"ten_rules": 10}
"""How many rules a peer has, if not one: each tells every operation."""


ROWS = 100_000
"""Events of a micro-batch."""
PHASES = (
    "finding what is new",
    "planning",
    "logs of offsets and commits",
    "reading, packing, shuffling, starting tasks",
    "steps",
    "writing state",
)
"""Where the time of a micro-batch goes."""

NO_PYFLINK = "apache-flink pins py4j 0.10.9.7 and pandas < 2.3, which PySpark 4.3 cannot use beside it"


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        if spec.name == "pyflink":
            raise UnavailableError(NO_PYFLINK)
        if part == "latency":
            waits: dict[str, Any] = import_module(".streams.latency", __package__).measure(spec.name, n)
            return waits
        measure = import_module(".streams.measure", __package__).measure
        times = 0 if spec.name in WRONG else RULES.get(spec.name, 1)
        answer: dict[str, Any] = measure(spec.name, n, is_slow=spec.name in SLOW, times=times)
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    return answer


STREAM = Workload("stream", SPECS, {"load": Part(3), "latency": Part(3, only_n=(LIGHT,))}, _work)
