"""The world of the demo: requests that wait for a reply, on a real hub, in virtual time.

Each request goes to one of the services and waits for its reply. Most replies come in time, some requests are given up,
a few are never answered; and a herd of waits may be let in that all fall due in the same millisecond.

Whatever happens, happens at a whole millisecond and is drawn from one seed. So the same seed and the same commands at
the same virtual times give the same outcomes, however fast virtual time passes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from ..clock import NS_PER_MS, ManualClock
from ..hub import Hub, Wait

SERVICES = ("payments", "stock", "courier", "mail", "search")
WITHIN_MS = tuple(round(2_000 * 75 ** ((i / 199) ** 0.6)) for i in range(200))  # 2 s to 150 s, half of them above 35 s
GIVEN_UP, UNANSWERED = 0.06, 0.08  # shares of the requests; all others are answered in time
FILL_MS = 2_000  # how long it takes to fill up
HERD_SHARE, HERD_WITHIN_MS = 5, 5_000
START_MS = 1_767_225_600_000  # 2026-01-01, for the sentences that give a date


@dataclass
class Service:
    """A service that replies, as long as it is alive."""

    name: str
    is_alive: bool = True
    signals: int = 0
    lost: int = 0


@dataclass(frozen=True)
class Herd:
    """Waits that all fall due in the same millisecond."""

    size: int
    due_ms: int


class World:
    """The requests, the services and the hub that holds the waits.

    `on_expiry` is called for every wait that expires, with the time at which it was due. The hub belongs
    to whoever calls `step`: nothing here may be used by two threads.
    """

    def __init__(self, waits: int, seed: int) -> None:
        self.waits = waits
        self.on_expiry: Callable[[int], object] = lambda due_ms: None
        self.clock = ManualClock(wall_ms=START_MS)
        self.hub = Hub("demo", clock=self.clock)
        self.sources = [Service(name) for name in SERVICES]
        self.opened = 0
        self.ended = {"completed": 0, "expired": 0, "cancelled": 0}
        self.early = 0
        self.ended_twice = 0
        self.last_ended: Wait | None = None
        self.herd: Herd | None = None
        self._random = random.Random(seed)
        self._most_a_ms = ceil(waits / FILL_MS)
        self._live: set[int] = set()
        self._in_herds = 0
        self._replies: dict[int, list[int]] = {}
        self._give_ups: dict[int, list[Wait]] = {}

    @property
    def now_ms(self) -> int:
        """Virtual milliseconds since the beginning."""
        return self.clock.now_ms

    @property
    def next_ns(self) -> int:
        """When the next step is to be taken."""
        return (self.clock.now_ms + 1) * NS_PER_MS

    def step(self) -> None:
        """One millisecond: deadlines pass, replies arrive, requests are given up, and new ones take their place."""
        self.clock.advance(1)
        now_ms = self.clock.now_ms
        for request in self._replies.pop(now_ms, ()):
            self._reply(request)
        for wait in self._give_ups.pop(now_ms, ()):
            self.hub.cancel(wait)
        missing = self.waits + self._in_herds - len(self._live)
        for _ in range(min(missing, self._most_a_ms)):
            self._open()

    def let_in_herd(self) -> Herd:
        """Open many waits at once, all due in the same millisecond, for replies that nobody will send."""
        herd = Herd(max(1, self.waits // HERD_SHARE), self.now_ms + HERD_WITHIN_MS + 1)
        for _ in range(herd.size):
            self._wait(HERD_WITHIN_MS, self._herd_ended)
        self._in_herds += herd.size
        self.herd = herd
        return herd

    def toggle(self, index: int) -> Service:
        """Kill that service, or revive it; what it would have sent meanwhile is lost."""
        source = self.sources[index]
        source.is_alive = not source.is_alive
        return source

    def _open(self) -> None:
        draw = self._random.random
        within_ms = WITHIN_MS[int(draw() * len(WITHIN_MS))]
        wait = self._wait(within_ms, self._ended)
        fate, at_ms = draw(), self.now_ms + max(1, int(within_ms * (0.05 + 0.9 * draw())))
        if fate < GIVEN_UP:
            self._give_ups.setdefault(at_ms, []).append(wait)
        elif fate >= GIVEN_UP + UNANSWERED:
            self._replies.setdefault(at_ms, []).append(self.opened)

    def _wait(self, within_ms: int, callback: Callable[[Wait], object]) -> Wait:
        self.opened += 1
        self._live.add(self.opened)
        return self.hub.wait(self.opened, "reply", within_ms, callback=callback)

    def _reply(self, request: int) -> None:
        source = self.sources[request % len(self.sources)]
        if source.is_alive:
            source.signals += 1
            self.hub.signal(request, "reply", source.name)
        else:
            source.lost += 1

    def _herd_ended(self, wait: Wait) -> None:
        self._in_herds -= 1
        self._ended(wait)

    def _ended(self, wait: Wait) -> None:
        """Every wait's callback: tick it off, and check that it was right to end."""
        request, outcome = wait.key, str(wait.outcome)
        if request in self._live:
            self._live.remove(request)
        else:
            self.ended_twice += 1
        self.ended[outcome] += 1
        self.last_ended = wait
        if outcome == "expired":
            due_ms = wait.deadline + 1 - START_MS  # the first instant that is too late for a reply
            self.early += self.now_ms < due_ms
            self.on_expiry(due_ms)
