"""`sojourn report`: a page about what became of a hub's waits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..exits import failures
from ..options import AsOfOption, Conf, Engine, Master, Memory, bytes_of, settings


def report(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The data folder of a hub, which may be running.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page: one HTML file.")] = Path("report.html"),
    what_if: Annotated[
        str | None, typer.Option(metavar="LIST", help='Other deadlines: "30 min,2 h"; "+15 min" moves each.')
    ] = None,
    summary: Annotated[Path | None, typer.Option(metavar="FILE", help="Counts as JSON.")] = None,
    as_of: AsOfOption = "log",
    engine: Annotated[
        Engine, typer.Option(help="local: in this process; spark; both: on both, and compared.")
    ] = Engine.LOCAL,
    master: Master = None,
    conf: Conf = None,
    memory: Memory = None,
) -> None:
    """Draw what became of a hub's waits, under its own rules, and what would have become of them under other deadlines.

    [bold]sojourn report data/ --what-if "30 min,2 h"[/bold]
    """
    spark, most = settings(conf, "--conf"), bytes_of(memory)
    with failures():
        from ...durable.log.folder import opened  # noqa: PLC0415  (NumPy and Arrow take a while to load)
        from .job import opened_job  # noqa: PLC0415
        from .outputs import Outputs  # noqa: PLC0415
        from .run import ReplayRun  # noqa: PLC0415

        outputs = Outputs(None, summary, out, False)
        outputs.refuse_inputs(data)
        opened(data)
        with opened_job(data, None, what_if=what_if, as_of=as_of) as job:
            ReplayRun(job, outputs, master=master, conf=spark, memory=most).run(engine.value)
