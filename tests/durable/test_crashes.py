"""Every prefix of every write sequence of small programs: recovered, and compared with what had been answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from durable.faulty_files import Chooser, all_of_it, disk_after, none_of_it, some_of_it
from durable.program import Answered, run
from durable.scene import Scene, picture
from durable.simulation import simulate
from sojourn.durable.recovery.recovery import recover

CHOOSERS = {"all": all_of_it, "none": none_of_it}


def choosers(seed: int) -> dict[str, Chooser]:
    return CHOOSERS | {f"some-{i}": some_of_it(1_000 * seed + i) for i in range(3)}


@pytest.mark.parametrize("remember", [None, 50])
@pytest.mark.parametrize("seed", range(8))
def test_nothing_answered_is_lost_wherever_the_program_is_cut_off(seed: int, remember: int | None) -> None:
    scene = Scene(segment_bytes=2_000, remember=remember)
    answered = run(scene, seed, 25)
    scene.check()
    pictures = [picture(recover(disk_after({}, scene.files.journal[: a.ops], none_of_it)).state) for a in answered]
    for ops in range(answered[0].ops, len(scene.files.journal) + 1):
        last = max(i for i, a in enumerate(answered) if a.ops <= ops)
        for name, chooser in choosers(seed).items():
            state = recover(disk_after({}, scene.files.journal[:ops], chooser)).state
            state.check()
            is_between = state.next_number - 1 >= answered[last].told
            assert is_between, f"seed {seed}, after {ops} operations, {name}: outcomes are lost"
            if picture(state) != pictures[last]:  # then some of what came after has reached the disk
                assert ops > answered[last].ops, f"seed {seed}, after {ops} operations, {name}"


@pytest.mark.parametrize("seed", range(6))
def test_a_hub_goes_on_from_every_cut_and_tells_each_outcome_once(seed: int) -> None:
    scene = Scene(segment_bytes=2_000)
    answered = run(scene, seed, 12)
    for ops in range(answered[0].ops, len(scene.files.journal) + 1, 3):
        files = disk_after({}, scene.files.journal[:ops], some_of_it(ops))
        after = Scene(files, scene.clock)
        after.check()
        after.clock.advance(5_000)
        assert after.hub.pending == 0
        outcomes = list(after.hub.outcomes())
        assert [outcome.number for outcome in outcomes] == list(range(1, len(outcomes) + 1))
        assert len({outcome.operation_id for outcome in outcomes if outcome.operation_id.startswith("#")}) == sum(
            outcome.operation_id.startswith("#") for outcome in outcomes
        )
        after.check()
        after.hub.close()


@pytest.mark.parametrize("seed", range(10))
def test_the_running_state_is_the_one_that_the_log_gives(seed: int) -> None:
    scene = Scene(segment_bytes=1_500, remember=40)
    answered: list[Answered] = run(scene, seed, 40)
    assert answered
    scene.check()
    scene.reopen(down_ms=30)
    scene.check()


@pytest.mark.parametrize("first", range(0, 1_000, 100))
def test_programs_with_crashes_keep_what_they_answered(first: int, tmp_path: Path) -> None:
    """More of them with `make crashes N=1000000`."""
    for seed in range(first, first + 100):
        try:
            simulate(seed, str(tmp_path))
        except Exception as failure:
            raise AssertionError(f"seed {seed}: {failure}") from failure
