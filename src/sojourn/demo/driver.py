"""Who moves the world: one thread that owns it, does what it is asked, and hangs out readings."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Self

from ..clock import NS_PER_MS
from .pace import Pace
from .reading import Observer, Reading
from .world import World

SLICE_NS = 10 * NS_PER_MS  # of work, then commands get their turn
LOOK_NS = NS_PER_MS * 1000 // 20
MOST_LATE_NS = 150 * NS_PER_MS  # a world that far behind its pace will not catch up: the pace gives in
NAP_S = 0.02
SHORTEST_NAP_S = 0.0005


class DemoDriver:
    """Keeps a world up with its pace. From other threads: `ask`, `reading`, and nothing else.

    Started by `with`, it has a thread; without one, whoever holds it calls `turn`.
    """

    def __init__(self, waits: int, seed: int, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self.world = World(waits, seed)
        self.observer = Observer(self.world, self.pace)
        self.world.on_expiry = self.observer.note_expiry
        self.reading: Reading = self.observer.look()
        self.failure: BaseException | None = None
        self._looked_ns = self.pace.real_ns()
        self._inbox: deque[Command] = deque()
        self._is_stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sojourn-demo", daemon=True)

    def __enter__(self) -> Self:
        self.pace.restart_at(self.world.now_ms * NS_PER_MS)  # it is not late before it has begun
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_stopped.set()
        self._thread.join()

    # Commands

    def ask(self, command: Command) -> None:
        """Have that done by the owner of the world, soon: `driver.ask(DemoDriver.let_in_herd)`."""
        self._inbox.append(command)

    def pause(self) -> None:
        """Or go on."""
        self.pace.toggle_pause()

    def shift_speed(self, steps: int) -> None:
        self.pace.shift(steps)
        self.observer.changed_speed()

    def let_in_herd(self) -> None:
        self.world.let_in_herd()
        self.observer.census.count_all()

    def kill_or_revive(self, source: int) -> None:
        self.world.toggle(source)

    # Moving

    def turn(self) -> float:
        """Do what was asked, keep up with the pace for a slice, take a reading now and then; return how long to nap."""
        is_asked = bool(self._inbox)
        while self._inbox:
            self._inbox.popleft()(self)
        self._keep_up()
        if is_asked or self.pace.real_ns() - self._looked_ns >= LOOK_NS:
            self.reading = self.observer.look()
            self._looked_ns = self.pace.real_ns()
        if self.pace.is_paused:
            return NAP_S
        return max(0, min(NAP_S, self.pace.real_s_until(self.world.next_ns)))

    def _keep_up(self) -> None:
        world, pace = self.world, self.pace
        until_ns = pace.real_ns() + SLICE_NS
        while world.next_ns <= pace.now_ns():
            world.step()
            if pace.real_ns() >= until_ns:
                break
        if pace.late_ns(world.now_ms + 1) > MOST_LATE_NS:
            pace.restart_at(world.next_ns)

    def _run(self) -> None:
        try:
            while not self._is_stopped.is_set():
                self._is_stopped.wait(max(SHORTEST_NAP_S, self.turn()))
        except BaseException as failure:
            self.failure = failure


Command = Callable[[DemoDriver], object]
