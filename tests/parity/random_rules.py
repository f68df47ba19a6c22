"""Rules and logs from a seed, larger than Hypothesis likes them: many keys, many events, values that cannot be used."""

from __future__ import annotations

from random import Random

from rules.strategies import KINDS, LEAVES, all_events
from sojourn.rules import AsOf, Condition, Event, Rule, all_of, any_of, column, n_of, never, until_column

KEYS = "klmno"
EVENTS = [event for key in KEYS for event in all_events(key, KINDS)]
UNUSABLE = [
    *(event._replace(value=value) for event in all_events("k", "a b c")[:70] for value in (None, float("nan"), -1.0)),
    *(event._replace(columns={}) for event in all_events("l", "open a b")[:70]),
]


def condition(random: Random, depth: int = 0) -> Condition:
    if depth == 2 or random.random() < 0.55:
        return never() if random.random() < 0.05 else random.choice(LEAVES)
    parts = [condition(random, depth + 1) for _ in range(random.randint(1, 3))]
    return random.choice([all_of(*parts), any_of(*parts), n_of(random.randint(1, len(parts)), *parts)])


def rule(random: Random, name: str = "r") -> Rule:
    opens, per = random.choice(["open", "a"]), random.choice(["first", "each"])
    if random.random() < 0.2:
        within = random.choice([0, 1, 2, 3, column("allowed")])
        cancels, alive = random.choice([None, "stop"]), random.choice(["a", "b"])
        return Rule(name, opens, None, within, per, cancels=cancels, keeps_alive=alive)  # type: ignore[arg-type]
    within = random.choice([0, 1, 2, 3, 5, column("allowed"), until_column("due")])
    return Rule(name, opens, condition(random), within, per, random.choice([None, "stop", "b"]))  # type: ignore[arg-type]


def as_of(random: Random) -> AsOf:
    """Where a log ends: before, among or after its events, or at its last one, or never."""
    return random.choice(["complete", "log", random.randint(-1, 13)])


def log(random: Random, size: int) -> list[Event]:
    return [random.choice(EVENTS if random.random() < 0.95 else UNUSABLE) for _ in range(size)]
