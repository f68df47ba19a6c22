"""`sojourn serve`: the hub of a data folder behind HTTP."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .exits import failures
from .options import bytes_of, duration_of
from .words import many

if TYPE_CHECKING:
    from ..service.access.tokens import Tokens


class Clock(StrEnum):
    SYSTEM = "system"
    MANUAL = "manual"


class Sync(StrEnum):
    ALWAYS = "always"
    OS = "os"


class Requests(StrEnum):
    ALL = "all"
    FAILED = "failed"
    NONE = "none"


def serve(
    data: Annotated[str | None, typer.Option(metavar="DATA", help="The data folder, made if there is none.")] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes any.")] = 7420,
    tokens: Annotated[
        str | None, typer.Option(metavar="FILE", help="Bearer tokens, one per line: NAME SCOPE TOKEN.")
    ] = None,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate, in PEM.")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    tls_elsewhere: Annotated[bool, typer.Option("--tls-elsewhere", help="A proxy in front has TLS.")] = False,
    clock: Annotated[Clock, typer.Option(help="manual: time moves only by POST /v1/clock/advance.")] = Clock.SYSTEM,
    copy: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Serve a copy of this folder, which may be in use; --data is where to."),
    ] = None,
    sync: Annotated[
        Sync, typer.Option(help="always: answered once on the disk; os: once the system has it.")
    ] = Sync.ALWAYS,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="For pending waits; those due later are in an index on the disk.")
    ] = "1g",
    remember: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long to keep signals for waits that are opened later.")
    ] = None,
    recover_grace: Annotated[
        str, typer.Option(metavar="DURATION", help="How long after a start nothing expires.")
    ] = "0s",
    max_step: Annotated[
        str, typer.Option(metavar="DURATION", help="How far the wall clock may jump ahead unconfirmed.")
    ] = "7 days",
    keep: Annotated[str, typer.Option(metavar="DURATION", help="How long outcomes stay in the log.")] = "7 days",
    keep_bytes: Annotated[int | None, typer.Option(help="How large the log may become.")] = None,
    archive: Annotated[
        bool | None, typer.Option("--archive/--no-archive", help="Make Parquet of what leaves the log.")
    ] = None,
    max_body: Annotated[int, typer.Option(help="Bytes of one request.")] = 1 << 20,
    max_batch: Annotated[int, typer.Option(help="Bytes of one request to /v1/batch.")] = 64 << 20,
    max_connections: Annotated[int, typer.Option(help="Open connections.")] = 12_000,
    max_pending: Annotated[int | None, typer.Option(help="Pending waits.")] = None,
    max_rate: Annotated[int | None, typer.Option(help="Requests, or lines of a batch, per second and token.")] = None,
    max_request: Annotated[int, typer.Option(metavar="SECONDS", help="How long a request may take to arrive.")] = 60,
    max_wait: Annotated[
        str, typer.Option(metavar="DURATION", help="How long a request may wait for something to happen.")
    ] = "5 min",
    log_requests: Annotated[Requests, typer.Option(help="Which requests are logged.")] = Requests.FAILED,
    webhooks_to: Annotated[
        list[str] | None,
        typer.Option(metavar="NETWORK", help="A private network that webhooks may go to; repeatable."),
    ] = None,
    drain: Annotated[int, typer.Option(metavar="SECONDS", help="How long open requests may take on SIGTERM.")] = 10,
) -> None:
    """Put the hub of a data folder behind HTTP.

    [bold]sojourn serve --data data/[/bold]
    [bold]sojourn serve --copy data/ --clock manual[/bold]   in virtual time, on a copy
    """
    if data is None and copy is None:
        raise typer.BadParameter("--data is missing: name a folder", param_hint="--data")
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together", param_hint="--tls-cert")
    memory_bytes = bytes_of(memory)
    with failures(), ExitStack() as stack:
        from ..durable.index.cold import MEMORY  # noqa: PLC0415
        from ..service.access.tokens import Tokens  # noqa: PLC0415
        from ..service.logs import log_as_json  # noqa: PLC0415  (only this command needs what is behind it)
        from ..service.server import serve as serve_folder  # noqa: PLC0415
        from ..service.settings import Limits, Settings  # noqa: PLC0415

        limits = Limits(
            body_bytes=max_body,
            batch_bytes=max_batch,
            connections=max_connections,
            pending=max_pending,
            per_second=max_rate,
            request_s=max_request,
            longest_wait_ms=duration_of("--max-wait", max_wait),
        )
        settings = Settings(
            data=data if data is not None else os.path.join(stack.enter_context(scratch()), "copy"),
            host=host,
            port=port,
            sync=sync.value,
            clock=clock.value,
            tokens=tokens_of(tokens) or Tokens(),
            tls=None if tls_cert is None or tls_key is None else (tls_cert, tls_key),
            tls_elsewhere=tls_elsewhere,
            memory=memory_bytes or MEMORY,
            limits=limits,
            remember=remember,
            recover_grace=recover_grace,
            max_step=max_step,
            keep=keep,
            keep_bytes=keep_bytes,
            archive=archive,
            log_requests=log_requests.value,
            webhooks_to=tuple(webhooks_to or ()),
            drain_s=drain,
        )
        if copy is not None:
            from ..durable.folder.backup import backup  # noqa: PLC0415

            made = backup(copy, settings.data)
            typer.echo(f"a copy of {copy}, with {many(made.pending, 'wait')} pending, in {made.folder}", err=True)
        log_as_json()
        serve_folder(settings, lambda address: typer.echo(f"listening on {address}", err=True))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """For a copy that nobody wants to keep."""
    return tempfile.TemporaryDirectory(prefix="sojourn-copy-")


def tokens_of(path: str | None) -> Tokens | None:
    """From a file, or from SOJOURN_TOKENS."""
    from ..service.access.tokens import Tokens  # noqa: PLC0415

    if path is not None:
        return Tokens.read(path)
    text = os.environ.get("SOJOURN_TOKENS")
    return Tokens.parse(text) if text else None
