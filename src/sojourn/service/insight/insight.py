"""The part of a service that knows how it goes: it counts what is told, and has the history read when asked."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from starlette.routing import BaseRoute

from ...durable.state.horizon import horizon
from ...durable.state.wait import Wait
from ...errors import OutcomesGoneError
from ..api.problems import Problem
from .forecast import forecast
from .on_disk import OnDisk
from .pulse import Pulse

if TYPE_CHECKING:
    from ..service import Service
    from .history import History

WEEK_MS = 7 * 86_400_000
FRESH_S = 15.0
"""How old a history may be before it is read again, when somebody asks; longer where reading takes long."""
FRESH_TIMES = 10
RECALLED = 20_000
"""Outcomes of before that are counted at the start."""
DISK_S = 5.0
MINUTE_MS = 60_000
SHARED_S = 0.25


class Insight:
    """Started when the hub is open. The history is read by another process, one at a time."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.pulse = Pulse(service.now_ms)
        self._history: History | None = None
        self._read_at = self._took_s = 0.0
        self._reading: asyncio.Task[History] | None = None
        self._recalling: asyncio.Task[None] | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._shared: tuple[float, tuple[int, int] | None, dict[str, Any]] = (0.0, None, {})
        self._on_disk = OnDisk()
        self._disk: tuple[float, dict[str, Any]] = (-DISK_S, {})

    @property
    def routes(self) -> list[BaseRoute]:
        from .routes import routes  # noqa: PLC0415  (they ask for this module)

        return routes

    async def start(self) -> None:
        outcomes = self._service.hub._engine.outcomes
        before = outcomes.on_told

        def told(waits: list[Wait]) -> None:
            if before is not None:
                before(waits)
            self.pulse.note(waits)

        outcomes.on_told = told
        self._recalling = asyncio.create_task(self._recall(outcomes.last))

    async def _recall(self, last: int) -> None:
        """Count what was told before the start: in the background, since nobody has to wait for that."""
        with suppress(OutcomesGoneError):  # by retention: then the picture begins later
            async for one in self._service.hub.outcomes(max(0, last - RECALLED)):
                if one.number > last:
                    return
                self.pulse.recall([one])

    async def stop(self) -> None:
        for task in (self._reading, self._recalling):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        await self._end_child()
        await self._on_disk.stop()

    # Now

    async def now(self, within_ms: int, buckets: int) -> dict[str, Any]:
        """All that the first page shows, in time that does not depend on how many waits there are.

        Many who look at the same time share an answer.
        """
        made_at, asked, shape = self._shared
        if asked == (within_ms, buckets) and monotonic() - made_at < SHARED_S and self._service.clock is None:
            return shape
        shape = await self._now(within_ms, buckets)
        self._shared = monotonic(), (within_ms, buckets), shape
        return shape

    async def _now(self, within_ms: int, buckets: int) -> dict[str, Any]:
        service, now = self._service, self._service.now_ms()
        in_index = self._on_disk.minutes(service.hub._engine.state)
        ahead, minute, stopped = await service.read(
            lambda state: (
                horizon(state, now, within_ms, buckets, in_index),
                horizon(state, now, MINUTE_MS, 60),
                {rule: act.at for rule, act in state.stopped.items()},
            )
        )
        return {
            **forecast(ahead, self.pulse),
            "is_manual": service.clock is not None,
            "minute": {"start": minute.start, "counts": minute.counts},
            "last_number": service.feed.last,
            "stopped_rules": stopped,
            "seconds": self.pulse.seconds.last(now, 120),
            "minutes": self.pulse.minutes.last(now, 60),
            "lateness": self.pulse.lateness(),
            "disk": await self._disk_now(),
        }

    async def _disk_now(self) -> dict[str, Any]:
        if monotonic() - self._disk[0] >= DISK_S:
            sizes = await asyncio.get_running_loop().run_in_executor(None, disk, self._service.settings.data)
            self._disk = monotonic(), sizes
        return self._disk[1]

    # History

    async def history(self, *, fresh: bool = False) -> History:
        """As of a short while ago. Whoever asks first waits for it; later ones have the last, while it is read anew."""
        if fresh and self._reading is not None and not self._reading.done():
            await self._unless_stopping(self._reading)  # it may have begun too early
        is_old = fresh or monotonic() - self._read_at > max(FRESH_S, FRESH_TIMES * self._took_s)
        if is_old and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._read())
        if self._history is None or fresh:
            assert self._reading is not None
            return await self._unless_stopping(self._reading)
        return self._history

    async def _unless_stopping(self, reading: asyncio.Task[History]) -> History:
        stopping = asyncio.ensure_future(self._service.draining.wait())
        try:
            await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not reading.done() or reading.cancelled():
            raise self._service.not_ready()
        return reading.result()

    async def _read(self) -> History:
        began, now = monotonic(), self._service.now_ms()
        try:
            data = await self._numbers(now - WEEK_MS, now)
            from .history import History  # noqa: PLC0415  (needs NumPy)

            self._history = await asyncio.get_running_loop().run_in_executor(None, History.of, data)
        except ImportError as missing:
            raise _unable(str(missing)) from None
        self._read_at, self._took_s = monotonic(), monotonic() - began
        return self._history

    async def _numbers(self, since: int, now: int) -> bytes:
        arguments = ("-m", f"{__package__}.past", self._service.settings.data, str(max(0, since)), str(now))
        self._child = child = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            out, err = await child.communicate()
        finally:
            await self._end_child()
        if child.returncode:
            lines = err.decode(errors="replace").strip().splitlines()
            raise _unable(lines[-1] if lines else f"it ended with {child.returncode}")
        return out

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None and child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def _unable(why: str) -> Problem:
    way_out = "; it needs pip install 'sojourn[pipeline]'" if "No module named" in why else ""
    return Problem(503, "no history", f"the folder's history cannot be read: {why}{way_out}")


def disk(data: str) -> dict[str, Any]:
    """Bytes of the log, of snapshots and of all else in the folder; and what is free beside it."""
    sizes = {"log": 0, "snapshots": 0, "other": 0}
    for folder, _, names in os.walk(data):
        for name in names:
            kind = "log" if name.startswith("log-") else "snapshots" if name.startswith("snapshot-") else "other"
            with suppress(OSError):  # it has gone meanwhile
                sizes[kind] += Path(folder, name).stat().st_size
    usage = shutil.disk_usage(data)
    return {**sizes, "free": usage.free, "total": usage.total}
