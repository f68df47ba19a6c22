"""The purgatory workload: operations in ours and in Kafka's purgatory, waits in the hub and in asyncio."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import hub_ops
from .child import UnavailableError
from .runner import KAFKA, Part, Spec, Workload, by_name

MEMORY_N = 1_000_000
"""Memory is taken once, with so many, whatever sizes are asked for: Python's arenas are coarse, 1 MiB each."""
RATES = (10_000, 50_000)
"""Requests a second in the part `load`; a row's `n` is the rate there."""
SLOW_N = 100_000
"""Ways of waiting that need a task each, and a million would need minutes."""

OPERATIONS = ("speed", "expire", "memory")
NO_MEMORY = ("speed", "expire")
PURE = {"SOJOURN_PURE": "1"}

PURGATORIES = by_name(
    Spec("sojourn"),
    Spec("sojourn-pure", env=PURE, parts=OPERATIONS),
    Spec(KAFKA),
)
WAITS = by_name(
    Spec("hub", "waits.hub:HubWaits", parts=OPERATIONS),
    Spec("hub-pure", "waits.hub:PureHubWaits", env=PURE, parts=OPERATIONS),
    Spec("hub-future", "waits.hub:FutureWaits", parts=OPERATIONS),
    Spec("hub-task", "waits.hub:TaskWaits", max_n=SLOW_N, parts=OPERATIONS),
    Spec("by-hand", "waits.by_hand:FuturesByHand", parts=OPERATIONS),
    Spec("by-hand-callback", "waits.by_hand:CallbacksByHand", parts=OPERATIONS),
    Spec("wait_for", "waits.tasks:WaitForFuture", max_n=SLOW_N, parts=OPERATIONS),
    Spec("timeout", "waits.tasks:TimeoutFuture", max_n=SLOW_N, parts=OPERATIONS),
    Spec("wait_for-event", "waits.tasks:WaitForEvent", max_n=SLOW_N, parts=OPERATIONS),
    Spec("hub-future@uvloop", "waits.hub:UvloopFutureWaits", parts=NO_MEMORY),
    Spec("hub-task@uvloop", "waits.hub:UvloopTaskWaits", max_n=SLOW_N, parts=NO_MEMORY),
    Spec("by-hand@uvloop", "waits.by_hand:UvloopFuturesByHand", parts=NO_MEMORY),
    Spec("wait_for@uvloop", "waits.tasks:UvloopWaitForFuture", max_n=SLOW_N, parts=NO_MEMORY),
    Spec("timeout@uvloop", "waits.tasks:UvloopTimeoutFuture", max_n=SLOW_N, parts=NO_MEMORY),
    Spec("wait_for-event@uvloop", "waits.tasks:UvloopWaitForEvent", max_n=SLOW_N, parts=NO_MEMORY),
)
PARTS = {
    "speed": Part(100),
    "expire": Part(100),
    "memory": Part(2, only_n=(MEMORY_N,), spares_slow=False),
    "load": Part(3, only_n=RATES),
}


def _work(spec: Spec, part: str, n: int) -> dict[str, Any]:
    try:
        return _waits(spec, part, n) if spec.name in WAITS else _operations(spec, part, n)
    except (ImportError, UnavailableError) as reason:
        return {"skipped": str(reason)}


def _waits(spec: Spec, part: str, n: int) -> dict[str, Any]:
    new = spec.load()
    hub_ops.warm_up(new)
    return {"version": new.version(), "rows": getattr(hub_ops, part)(new, n)}


def _operations(spec: Spec, part: str, n: int) -> dict[str, Any]:
    """Imported here, as only a child has the environment that chooses the build."""
    sojourn = import_module(".peers.sojourn", __package__)
    sojourn.require_build("pure" if spec.env else "compiled")
    module = import_module(".purgatory_load" if part == "load" else ".purgatory_ops", __package__)
    return {"version": sojourn.SojournPeer.version(), "rows": getattr(module, part)(n)}


PURGATORY = Workload("purgatory", {**PURGATORIES, **WAITS}, PARTS, _work)
