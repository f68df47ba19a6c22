"""A durable hub and one in memory, given the same program: the same outcomes, at the same times, for one reason."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sojourn as sj
from durable.scene import FUNDED, SHIPPED, WALL_MS, Scene
from sojourn.rules import Event
from sojourn.rules.law import case_of
from sojourn.rules.operation import Operation
from sojourn.testing import ManualClock

RULES = (
    SHIPPED,
    FUNDED,
    sj.Rule("alive", opens="order", keeps_alive="beat", within=60),
    sj.Rule("level", opens="order", until=sj.reached("coin", 3, by=2), within=90, cancels="void"),
    sj.Rule("some", opens="order", until=sj.n_of(2, "paid", "packed", sj.seen("ack", 2, "source")), within=80),
)
KINDS = ("paid", "packed", "void", "beat", "ack")


class Twins:
    def __init__(self, remember: int | None) -> None:
        self.scene = Scene(remember=remember, segment_bytes=3_000)
        self.clock = ManualClock(wall_ms=WALL_MS)
        self.memory = sj.Hub("twin", clock=self.clock, remember=remember)
        self.waits: dict[str, Any] = {}
        self.events: list[Event] = []
        self.opened: dict[str, tuple[str, int]] = {}
        """The keys of each wait, and how many events there had been."""

    def step(self, random: Random, number: int) -> None:
        key = random.choice("ab")
        match random.randrange(8):
            case 0 | 1:
                keys: Any = random.choice((key, ["a", "b"]))
                rule = random.choice(RULES)
                self.opened[f"w{number}"] = ("ab" if isinstance(keys, list) else keys, len(self.events))
                self.waits[f"w{number}"] = self.memory.wait(keys, rule=rule, id=f"w{number}")
                self.scene.hub.wait(keys, rule=rule, id=f"w{number}")
            case 2 | 3 | 4:
                signal = (key, random.choice(KINDS), random.choice((None, "s", 7)), None)
                assert self.memory.signal(*signal) == self.scene.hub.signal(*signal)
                self.events.append(Event(key, signal[1], self.scene.hub.now_ms(), signal[2]))
            case 5:
                coin = (key, "coin", random.choice((None, "s", 7)), random.choice((2, 3.5)))
                assert self.memory.signal(*coin) == self.scene.hub.signal(*coin)
                self.events.append(Event(key, "coin", self.scene.hub.now_ms(), *coin[2:]))
            case 6:
                self.change(random)
            case 7:
                ms = random.randrange(40)
                self.clock.advance(ms)
                self.scene.clock.advance(ms)
                if random.random() < 0.2:
                    self.scene.reopen()

    def change(self, random: Random) -> None:
        if self.waits:
            chosen, ms = random.choice(list(self.waits)), random.randrange(90)
            if random.random() < 0.5:
                assert self.memory.extend(chosen, ms) == self.scene.hub.extend(chosen, ms)
            else:
                assert self.memory.cancel(chosen) == self.scene.hub.cancel(chosen)


@pytest.mark.parametrize("remember", [None, 30])
@pytest.mark.parametrize("seed", range(25))
def test_the_same_program_has_the_same_outcomes_in_memory_and_on_disk(seed: int, remember: int | None) -> None:
    twins, random = Twins(remember), Random(seed)
    for number in range(60):
        twins.step(random, number)
    twins.clock.advance(5_000)
    twins.scene.clock.advance(5_000)
    told = {outcome.operation_id: tuple(outcome)[:12] for outcome in twins.scene.hub.outcomes()}
    assert told == {wait_id: tuple(wait.result()) for wait_id, wait in twins.waits.items()}, f"seed {seed}"
    twins.scene.check()


@pytest.mark.parametrize("seed", range(25))
def test_what_was_told_is_what_the_law_says_of_all_events(seed: int) -> None:
    """Without anything done by hand, and with events from the opening on, as a hub has them."""
    twins, random = Twins(None), Random(1_000 + seed)
    twins.change = lambda random: None  # type: ignore[method-assign]
    for number in range(60):
        twins.step(random, number)
    twins.scene.clock.advance(5_000)
    rules = {rule.name: rule for rule in RULES}
    for outcome in twins.scene.hub.outcomes():
        keys, before = twins.opened[outcome.operation_id]
        rule = rules[outcome.rule]
        assert isinstance(rule.within, int)
        operation = Operation(rule, outcome.key, outcome.opened_at, outcome.opened_at + rule.within, "")
        law = case_of(operation, [event for event in twins.events[before:] if event.key in keys]).outcome
        assert (outcome.outcome, outcome.at) == (law.outcome, law.at), f"seed {seed}, {outcome}"
