"""A few thousand random programs on either build tell the model's story. `make simulate` runs a million."""

from __future__ import annotations

from random import Random, SystemRandom

import pytest

from purgatory.simulation import MismatchError, ModelSide, RealSide, program, simulate
from support import BUILDS, Build

PROGRAMS = 1_000


@pytest.mark.parametrize("first", [0, SystemRandom().randrange(0, 10**9, 2)], ids=["the same", "others"])
def test_a_random_program_tells_the_story_that_the_model_tells(build: Build, first: int) -> None:
    for seed in range(first + BUILDS.index(build), first + 2 * PROGRAMS, 2):
        simulate(seed)


def test_a_program_follows_from_its_seed() -> None:
    assert program(Random(1)) == program(Random(1)) != program(Random(2))


def test_a_difference_is_told_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model itself is held to the purgatory: a model that forgets to count is found out."""
    monkeypatch.setattr(ModelSide, "leave", lambda self, operation: self.pending.pop(operation, None))
    with pytest.raises(MismatchError, match=r"^seed 0, pure\n"):
        simulate(0)


def test_programs_come_to_every_kind_of_end_in_every_way() -> None:
    """So that the comparison is about something."""
    seen: set[object] = set()
    errors = 0
    for seed in range(300):
        parts, steps = program(Random(seed))
        side = RealSide(BUILDS[0], parts)
        side.run(steps)
        seen.update(line[1] if len(line) == 2 else (line[0], bool(line[-1])) for line in side.story)
        errors += len(side.errors)
    assert errors
    assert {"try", "complete", "expiration", "cancellation"} <= seen
    both_ways = {"watch", "signal", "check", "force", "cancel", "cancel_key", "extend", "advance", "close"}
    assert {(name, answer) for name in both_ways for answer in (True, False)} <= seen
