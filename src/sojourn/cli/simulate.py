"""`sojourn simulate`: a seeded cluster, held to its promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import DIFFERENT, fail, failures

if TYPE_CHECKING:
    from ..kafka.simulation import Scenario


def simulate(
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed, the same run.")] = 0,
    faults: Annotated[
        str, typer.Option(metavar="NAME,...", help="crash, cut, loss, pause, member; all, or none.")
    ] = "all",
    minutes: Annotated[float, typer.Option(min=0.001, metavar="M", help="Of virtual time.")] = 60,
    brokers: Annotated[int, typer.Option(min=1, metavar="N")] = 3,
    partitions: Annotated[int, typer.Option(min=1, metavar="N")] = 3,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the operation log: .jsonl or .parquet.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say in JSON what waited, how long, and how it ended.")
    ] = False,
) -> None:
    """Run a cluster of brokers in virtual time, with clients and faults, and say what waited in it.

    What must hold is checked all the while: no acknowledged record is lost, every request is answered once and in time.
    """
    with failures():
        from ..kafka.__main__ import run  # noqa: PLC0415  (only this command needs it)
        from ..kafka.simulation import Scenario, fault_names  # noqa: PLC0415

        scenario = Scenario(
            seed=seed,
            faults=fault_names(faults),
            duration_ms=round(minutes * 60_000),
            brokers=brokers,
            partitions=partitions,
            min_insync=min(2, brokers),
        )
        if not as_json:
            raise typer.Exit(run(scenario, log))
        typer.echo(json.dumps(_run(scenario, log)))


def _run(scenario: Scenario, path: Path | None) -> dict[str, object]:
    """Run it quietly; what came of it, for a program to read."""
    from ..kafka.operation_log import Tee, open_log  # noqa: PLC0415
    from ..kafka.simulation import BrokenPromiseError, Simulation  # noqa: PLC0415
    from ..kafka.simulation.summary import Summary  # noqa: PLC0415

    summary = Summary()
    with Tee(summary) if path is None else Tee(summary, open_log(path)) as log:
        simulation = Simulation(scenario, log)
        try:
            simulation.run()
        except BrokenPromiseError as broken:
            fail(str(broken), DIFFERENT)
    network, audit = simulation.cluster.network, simulation.audit
    return {
        "seed": scenario.seed,
        "virtual_ms": scenario.duration_ms + scenario.settle_ms,
        "faults": dict(simulation.faults.happened),
        "requests": summary.figures(),
        "records": {"acknowledged": audit.acknowledged, "consumed": audit.consumed},
        "messages": {"sent": network.sent, "lost": network.lost},
    }
