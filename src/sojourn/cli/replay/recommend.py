"""`sojourn recommend`: which deadline it takes for a share of operations to complete."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .. import options as O  # noqa: N812
from ..exits import failures


class OneEngine(StrEnum):
    """Where a log is replayed."""

    SPARK = "spark"
    LOCAL = "local"


def recommend(
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS",
            help="A file, a folder or a pattern: Parquet, CSV, JSON Lines, XES; or the data folder of a hub.",
        ),
    ],
    rule: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A rule in TOML. May be given several times. A data folder has its own."),
    ] = None,
    share: Annotated[float, typer.Option(help="The share that is to complete: above 0, at most 1.")] = 0.95,
    by: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="And for each value of a column of what opens.")
    ] = None,
    engine: Annotated[OneEngine, typer.Option(help="spark; local: in this process.")] = OneEngine.SPARK,
    key: O.KeyColumn = None,
    kind: O.KindColumn = None,
    at: O.AtColumn = None,
    source: O.SourceColumn = None,
    value: O.ValueColumn = None,
    unit: O.InUnits = O.TimeUnit.AUTO,
    format: O.Format = None,
    option: O.Reading = None,
    operations: O.Operations = None,
    as_of: O.AsOfOption = "log",
    as_json: Annotated[bool, typer.Option("--json", help="Say it in JSON, as one object.")] = False,
    memory: O.Memory = None,
    master: O.Master = None,
    conf: O.Conf = None,
) -> None:
    """Say which deadline it would take for a share of operations to complete, and how sure that is.

    [bold]sojourn recommend events.parquet --rule fine-paid.toml --share 0.95 --by region[/bold]
    """
    if not 0 < share <= 1:
        raise typer.BadParameter(f"{share:g} is not above 0 and at most 1: 0.95 means 95 %", param_hint="--share")
    if not rule and not O.is_data_folder(events):
        raise typer.BadParameter("is missing: only the data folder of a hub has rules of its own", param_hint="--rule")
    options, spark, limit = O.settings(option, "--option"), O.settings(conf, "--conf"), O.bytes_of(memory)
    with failures():
        from ...pipeline.no_pandas import without_pandas  # noqa: PLC0415  (NumPy and Arrow take a while to load)

        without_pandas()
        from .job import opened_job  # noqa: PLC0415
        from .recommend_run import RecommendRun  # noqa: PLC0415

        with opened_job(
            events,
            rule,
            columns=O.columns_of(key, kind, at, source, value),
            unit=unit.value,
            format=format,
            options=options,
            operations=operations,
            as_of=as_of,
            by=by,
        ) as job:
            RecommendRun(job, share, as_json, master, spark, limit).run(engine.value)
