"""The kafka workload: requests over a replicated log in virtual time, with 10 to 10,000 partitions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .child import UnavailableError
from .runner import Part, Spec, Workload, by_name

FETCHERS = {"sojourn": 1, "sojourn-16-fetchers": 16, "sojourn-pure": 1}
"""How many fetches each follower keeps going with each leader."""

SPECS = by_name(
    Spec("sojourn"),
    Spec("sojourn-16-fetchers"),
    Spec("sojourn-pure", env={"SOJOURN_PURE": "1"}),
)
PARTS = {"produce": Part(5), "fetch": Part(5), "idle": Part(3)}


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    """Imported here, as only a child has the environment that chooses the build."""
    try:
        import_module(".peers.sojourn", __package__).require_build("pure" if spec.env else "compiled")
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}
    ops = import_module(".broker_ops", __package__)
    version = import_module("sojourn").__version__
    return {"version": version, "rows": getattr(ops, part)(n, FETCHERS[spec.name])}


BROKER = Workload("kafka", SPECS, PARTS, _work)
