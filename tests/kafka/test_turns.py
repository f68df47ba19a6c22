from __future__ import annotations

import threading

import pytest

from sojourn.kafka.turns import Turns


def test_what_is_left_for_later_runs_when_the_outermost_turn_is_over() -> None:
    turns, ran = Turns(print), []
    with turns:
        turns.later(ran.append, 1)
        with turns:
            turns.later(ran.append, 2)
        assert ran == []
    assert ran == [1, 2]


def test_what_an_action_leaves_for_later_runs_after_it_and_does_not_nest() -> None:
    turns, ran = Turns(print), []

    def action(depth: int) -> None:
        ran.append(("begins", depth))
        if depth < 3:
            with turns:
                turns.later(action, depth + 1)
        ran.append(("ends", depth))

    with turns:
        turns.later(action, 0)
    assert ran == [(what, depth) for depth in range(4) for what in ("begins", "ends")]


def test_an_action_that_fails_is_reported_and_the_next_runs() -> None:
    failed: list[BaseException] = []
    turns, ran = Turns(failed.append), []
    with turns:
        turns.later(lambda: 1 / 0)
        turns.later(ran.append, 1)
    assert (ran, [type(error) for error in failed]) == ([1], [ZeroDivisionError])


def test_a_turn_that_fails_still_runs_what_it_left() -> None:
    turns, ran = Turns(print), []

    def turn() -> None:
        with turns:
            turns.later(ran.append, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        turn()
    assert ran == [1]


def test_actions_run_without_the_lock() -> None:
    turns = Turns(print)
    was_free: list[bool] = []

    def try_it() -> None:
        other = threading.Thread(target=lambda: turns.__enter__() or turns.__exit__())
        other.start()
        other.join(timeout=10)
        was_free.append(not other.is_alive())

    with turns:
        turns.later(try_it)
    assert was_free == [True]
