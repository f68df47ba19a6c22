"""The scheduler itself: a tool that finds races must be seen finding one."""

from __future__ import annotations

from math import comb

import pytest

from concurrency.scheduler import DeadlockError, FailedRunError, Program, Stage, explore


def counter(stage: Stage, *, is_atomic: bool) -> Program:
    """Two actors add one each; unless that is atomic, one may read before the other has written."""
    total = 0

    def add() -> None:
        nonlocal total
        stage.point("call")
        seen = total
        if not is_atomic:
            stage.point("between")
        total = seen + 1

    def check() -> None:
        assert total == 2, "an update was lost"

    return Program([add, add], check)


def test_every_interleaving_is_run_once() -> None:
    seen = []

    def program(stage: Stage) -> Program:
        run: list[str] = []

        def steps(name: str) -> None:
            for _ in range(3):
                run.append(name)
                stage.point(name)

        return Program([lambda: steps("a"), lambda: steps("b")], lambda: seen.append("".join(run)))

    assert explore(program, 2) == len(seen)
    assert len(set(seen)) == comb(6, 3)  # the end of an actor is a step too, so some orders come more than once


def test_an_atomic_counter_passes() -> None:
    assert explore(lambda stage: counter(stage, is_atomic=True), 2) > 2


def test_a_lost_update_is_found_and_its_schedule_can_be_replayed() -> None:
    with pytest.raises(FailedRunError, match="an update was lost") as found:
        explore(lambda stage: counter(stage, is_atomic=False), 2)
    schedule = [int(choice) for choice in str(found.value).partition("schedule=[")[2].partition("]")[0].split(",")]
    with pytest.raises(FailedRunError, match="run 0,"):
        explore(lambda stage: counter(stage, is_atomic=False), 2, schedule=schedule)


def test_no_preemption_means_one_run_an_order_of_the_actors() -> None:
    assert explore(lambda stage: counter(stage, is_atomic=False), 2, preemptions=0) == 2


def test_a_lost_update_is_found_between_two_lines() -> None:
    def program(stage: Stage) -> Program:
        total = 0

        def add() -> None:
            nonlocal total
            seen = total
            total = seen + 1

        def check() -> None:
            assert total == 2, "an update was lost"

        return Program([add, add], check)

    assert explore(program, 2) == 2
    with pytest.raises(FailedRunError, match="an update was lost"):
        explore(program, 2, traced=[__file__])


def test_a_deadlock_is_found() -> None:
    def program(stage: Stage) -> Program:
        held: set[str] = set()

        def take(first: str, second: str) -> None:
            for name in (first, second):
                stage.wait_until(lambda name=name: name not in held, f"take {name}")
                held.add(name)
            held.clear()

        return Program([lambda: take("x", "y"), lambda: take("y", "x")], lambda: None)

    with pytest.raises(FailedRunError) as found:
        explore(program, 2)
    assert isinstance(found.value.__cause__, DeadlockError)


def test_a_program_without_end_is_refused() -> None:
    with pytest.raises(AssertionError, match="more than 10 interleavings"):
        explore(lambda stage: Program([lambda: [stage.point("") for _ in range(9)]] * 2, lambda: None), 2, most=10)
