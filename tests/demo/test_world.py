"""The world of the demo keeps its books, and they are the hub's."""

from __future__ import annotations

import pytest

from sojourn.demo.world import HERD_WITHIN_MS, SERVICES, World


def play(world: World, ms: int) -> World:
    for _ in range(ms):
        world.step()
    return world


def balance(world: World) -> None:
    """Every wait is pending or has ended once, and the hub says the same."""
    stats = world.hub.stats()
    assert {outcome: getattr(stats, outcome) for outcome in world.ended} == world.ended
    assert world.opened == sum(world.ended.values()) + stats.pending
    assert (world.early, world.ended_twice) == (0, 0)


@pytest.mark.parametrize("waits", [1, 7, 3_000])
def test_as_many_waits_are_pending_as_were_asked_for(waits: int) -> None:
    world = play(World(waits, seed=1), 2_500)
    for _ in range(500):
        world.step()
        assert world.hub.pending == waits
    balance(world)


def test_every_step_keeps_the_books_balanced() -> None:
    world = World(300, seed=2)
    for ms in range(9_000):
        world.step()
        if ms % 100 == 0:
            balance(world)
    assert min(world.ended.values()) > 0


def test_the_same_seed_and_commands_give_the_same_outcomes() -> None:
    def history(seed: int) -> list[object]:
        world = play(World(200, seed), 3_000)
        world.toggle(1)
        play(world, 2_000)
        world.let_in_herd()
        play(world, 6_000)
        return [world.opened, world.ended, [(source.signals, source.lost) for source in world.sources]]

    assert history(5) == history(5)
    assert history(5) != history(6)


def test_a_herd_falls_due_in_the_same_millisecond_and_not_before() -> None:
    world = play(World(1_000, seed=3), 100)
    told: list[int] = []
    world.on_expiry = told.append
    herd = world.let_in_herd()
    assert (herd.size, herd.due_ms) == (200, 100 + HERD_WITHIN_MS + 1)
    play(world, HERD_WITHIN_MS)
    assert herd.due_ms not in told
    world.step()
    assert told.count(herd.due_ms) >= herd.size
    assert world.hub.pending >= 1_000 - world.ended["expired"]  # nobody takes the places of the herd
    balance(play(world, 100))
    assert world.hub.pending == 1_000


def test_a_dead_service_sends_nothing_and_its_waits_expire() -> None:
    world = play(World(1_000, seed=4), 1_000)
    received = [source.signals for source in world.sources]
    for index in range(len(SERVICES)):
        world.toggle(index)
    completed = world.ended["completed"]
    play(world, 20_000)
    assert [source.signals for source in world.sources] == received
    assert world.ended["completed"] == completed
    assert world.ended["expired"] > 100
    assert all(source.lost > 0 for source in world.sources)
    balance(world)


def test_a_revived_service_sends_again_and_the_others_never_noticed() -> None:
    world = play(World(1_000, seed=4), 1_000)
    world.toggle(0)
    play(world, 3_000)
    dead, other = world.sources[0].signals, world.sources[1].signals
    world.toggle(0)
    play(world, 3_000)
    assert world.sources[0].is_alive
    assert world.sources[0].signals > dead
    assert world.sources[1].signals > other > dead
    assert world.sources[1].lost == 0
