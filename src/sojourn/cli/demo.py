"""`sojourn demo`: the live view."""

from __future__ import annotations

from typing import Annotated

import typer

from .exits import failures


def demo(
    waits: Annotated[int, typer.Option(min=1, metavar="N", help="Waits to keep pending.")] = 100_000,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, metavar="S", help="How long to run; until you quit if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="For all that is drawn by chance.")] = 1,
    plain: Annotated[bool, typer.Option("--plain", help="Print one line per second instead of drawing.")] = False,
) -> None:
    """Watch a hundred thousand live waits, and the timing wheels that hold them.

    [bold]space[/bold]  pause, and go on
    [bold]+ -[/bold]    virtual time faster, slower
    [bold]h[/bold]      let in a herd: many waits that fall due in the same millisecond
    [bold]1-5[/bold]    kill a service that sends signals, or revive it
    [bold]q[/bold]      quit
    """
    with failures():
        from ..demo import run  # noqa: PLC0415  (only this command needs it)

        raise typer.Exit(run(waits, seconds, seed, plain=plain))
