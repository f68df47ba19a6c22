"""Real time, moved by hand: what the demo takes for the clock on the wall."""

from __future__ import annotations

from typing import Self

from sojourn.clock import NS_PER_MS
from sojourn.demo.driver import Command, DemoDriver
from sojourn.demo.pace import Pace


class Outside:
    """A clock that shows what it is told to."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def pass_ms(self, ms: float) -> None:
        self.ns += round(ms * NS_PER_MS)


class HandDriver(DemoDriver):
    """A driver without a thread, in a world without hurry: real time passes only in `play`."""

    def __init__(self, waits: int = 500, seed: int = 1) -> None:
        self.outside = Outside()
        super().__init__(waits, seed, Pace(self.outside))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def do(self, command: Command) -> None:
        """Ask for it and wait for it; no time passes."""
        self.ask(command)
        self.turn()

    def play(self, seconds: float) -> None:
        """Let that much real time pass, a hundredth of a second at a time."""
        for _ in range(round(seconds * 100)):
            self.outside.pass_ms(10)
            self.turn()
