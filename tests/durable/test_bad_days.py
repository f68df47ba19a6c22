"""A disk that fails, damage, other owners, clocks that jump."""

from __future__ import annotations

import errno
import logging
from typing import Any

import pytest

import sojourn as sj
from durable.faulty_files import FaultyFiles, disk_after, none_of_it, some_of_it
from durable.program import run
from durable.scene import WALL_MS, Scene, picture, snapshot_at
from sojourn.durable.log.records import TOLD, records, start_of_records
from sojourn.durable.log.segments import Header, headers, layout, segment_name
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.recovery.upkeep import RETRY_MS, removable
from sojourn.durable.state.state import State
from sojourn.testing import ManualClock


def test_a_full_disk_refuses_writes_and_forgets_nothing(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    kept = scene.hub.wait("k", "paid", 100, id="kept")
    for room in (0, 5, 30):
        scene.files.room = room
        with pytest.raises(sj.DiskError, match="is full"):
            scene.hub.wait("k", "paid", 100, id="lost")
        with pytest.raises(sj.DiskError, match="is full"):
            scene.hub.signal("k", "paid")
    assert scene.hub.stats().is_failing
    assert scene.hub.list() == [kept]
    assert scene.hub.get("lost") is None
    assert "is full" in caplog.text
    scene.files.room = None
    assert scene.hub.wait("k", "paid", 100, id="found").id == "found"
    assert scene.hub.signal("k", "paid") == 2
    assert kept.done()
    scene.check()


def test_waits_expire_on_a_full_disk_and_are_told_once_there_is_room(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 100, callback=scene.note)
    scene.files.room = 0
    scene.clock.advance(5_000)
    assert not wait.done()
    scene.files.room = None
    scene.clock.advance(1_000)
    assert (wait.outcome, wait.at, scene.told) == ("expired", WALL_MS + 100, ["#1"])
    scene.check()


def test_upkeep_that_fails_unexpectedly_says_where_and_goes_on_later(caplog: pytest.LogCaptureFixture) -> None:
    """As when Arrow cannot convert a segment, which is a ValueError."""
    scene = Scene(segment_bytes=400)
    upkeep = scene.hub._engine._upkeep
    upkeep._sealed = fail_to_convert
    fill_a_segment(scene, "first")
    assert "upkeep has to wait: it cannot be converted" in caplog.text
    assert "in fail_to_convert" in caplog.text, "with its traceback"
    assert upkeep._retry_at == scene.hub.now_ms() + RETRY_MS
    upkeep._sealed = None
    before = layout(scene.files).snapshots
    fill_a_segment(scene, "second")
    assert len(layout(scene.files).snapshots) > len(before)
    scene.check()


def fail_to_convert() -> None:
    raise ValueError("it cannot be converted")


def fill_a_segment(scene: Scene, name: str) -> None:
    before = layout(scene.files).segments
    while layout(scene.files).segments == before:
        scene.hub.wait(name, "paid", 1_000_000)


@pytest.mark.parametrize("what", ["sync", "write"])
@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS, errno.ENOSPC])
def test_after_an_error_what_was_written_is_not_taken_to_be_there(scene: Scene, what: str, error: int) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    scene.files.failing = {what: error}
    with pytest.raises(sj.DiskError):
        scene.hub.signal("k", "paid")
    assert not wait.done()
    scene.files.failing = {}
    assert scene.hub.signal("k", "paid") == 1
    assert wait.result().number == 1
    scene.check()
    for seed in range(20):
        state = recover(disk_after({}, scene.files.journal, some_of_it(seed))).state
        assert state.next_number == 2


def test_a_disk_that_fails_when_a_segment_is_full_is_no_loss() -> None:
    scene = Scene(segment_bytes=700)
    scene.files.failing = {"create": errno.ENOSPC}
    with pytest.raises(sj.DiskError):
        [scene.hub.wait(f"k{i}", "paid", 100) for i in range(100)]
    pending = scene.hub.pending
    scene.files.failing = {}
    scene.hub.wait("k", "paid", 100)
    assert scene.hub.pending == pending + 1
    scene.check()


def test_a_torn_tail_is_cut_counted_and_said(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.hub.wait("k", "paid", 100, id="w")
    scene.crash()
    name = segment_name(layout(scene.files).segments[-1])
    scene.files.contents[name] += b"\xf5\xfa\x03\x01half a rec"
    with caplog.at_level(logging.WARNING):
        hub = scene.open()
    assert hub.stats().torn_bytes == 14
    assert "14 bytes" in caplog.text
    assert hub.pending == 1
    hub = scene.reopen()
    assert (hub.stats().torn_bytes, hub.pending) == (0, 1)
    scene.check()


def test_every_flipped_bit_before_the_tail_is_an_error_that_names_the_place(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000)
    scene.hub.signal("k", "packed")
    start = scene.hub._engine.log.position.offset
    scene.hub.signal("k", "packed")
    name = segment_name(1)
    sound = scene.files.contents[name]
    for offset in range(start):
        scene.files.flip(name, offset, offset % 8)
        with pytest.raises((sj.DamagedError, sj.FormatError), match=name):
            recover(scene.files)
        scene.files.contents[name] = sound


def test_damage_in_a_sealed_segment_is_named(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000)
    scene.reopen()
    scene.hub.close()
    scene.files.flip(segment_name(1), scene.files.size(segment_name(1)) - 1)
    scene.is_damaged = True
    with pytest.raises(sj.DamagedError, match=f"{segment_name(1)} is damaged at offset"):
        scene.open()


def test_a_missing_segment_is_noticed(scene: Scene) -> None:
    scene.reopen()
    scene.reopen()
    scene.hub.close()
    del scene.files.contents[segment_name(2)]
    scene.is_damaged = True
    with pytest.raises(sj.DamagedError, match="missing"):
        scene.open()


def test_a_damaged_snapshot_is_passed_over_while_the_log_has_it_all() -> None:
    scene = Scene(segment_bytes=500)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    scene.hub.close()
    snapshots = layout(scene.files).snapshots
    assert len(snapshots) == 2
    for number in snapshots:
        scene.files.flip(f"snapshot-{number:08}.sj", 40)
    assert scene.open().pending == 10
    scene.check()


def test_half_a_snapshot_is_passed_over() -> None:
    scene = Scene(segment_bytes=500)
    for i in range(10):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    scene.hub.close()
    for number in layout(scene.files).snapshots:
        name = f"snapshot-{number:08}.sj"
        data = scene.files.read(name)
        whole = list(records(data, start_of_records(data, "SNAPSHOT", name), len(data), name))
        scene.files.contents[name] = data[: whole[1].offset]
    assert scene.open().pending == 10


def test_a_snapshot_has_what_came_before_its_segment_and_nothing_else() -> None:
    scene = Scene(segment_bytes=500)
    for i in range(20):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    found = headers(scene.files, layout(scene.files).segments)
    whole = picture(recover(scene.files).state)
    for header in found[1:]:
        files = FaultyFiles({name: data for name, data in scene.files.contents.items() if name.startswith("log")})
        snapshot_at(files, header)
        for number in range(1, header.segment):
            files.remove(segment_name(number))
        assert recover(files).snapshot == header.segment
        assert picture(recover(files).state) == whole


def test_a_segment_goes_only_if_two_snapshots_have_it_and_it_is_old_or_too_much() -> None:
    found = [Header(number, 100, 1_000 * number, 1) for number in range(1, 7)]
    sizes = [100] * 6
    assert removable(found, sizes, [4, 6], 10_000, None) == [1, 2, 3]
    assert removable(found, sizes, [4, 6], 2_500, None) == [1]
    assert removable(found, sizes, [4, 6], 0, 450) == [1, 2]
    assert removable(found, sizes, [6], 10_000, 0) == []


@pytest.mark.parametrize(
    "told", [[0, 2, []], [0, 1, [[7, "#7", "wait", "k", 0, 9, "expired", 9, "deadline", "", "", None]]]]
)
def test_a_log_that_contradicts_itself_is_an_error(told: list[Any]) -> None:
    with pytest.raises(sj.DamagedError, match=r"outcome \d"):
        State().apply(TOLD, told)


@pytest.mark.parametrize("seed", range(6))
def test_what_the_operating_system_loses_leaves_a_folder_that_can_be_read(seed: int) -> None:
    scene = Scene(sync="os", segment_bytes=700)
    run(scene, seed, 20)
    journal = scene.files.journal
    for ops in range(len(journal) + 1):
        recover(disk_after({}, journal[:ops], some_of_it(1_000 * seed + ops))).state.check()


def test_a_folder_of_a_newer_format_is_refused_with_both_versions(scene: Scene) -> None:
    scene.hub.close()
    name = segment_name(1)
    scene.files.contents[name] = scene.files.contents[name].replace(b"SOJOURN LOG 1\n", b"SOJOURN LOG 7\n")
    scene.is_damaged = True
    with pytest.raises(sj.FormatError, match=r"format 7.*format 1"):
        scene.open()


def test_the_second_owner_is_refused_and_told_who_has_it(scene: Scene) -> None:
    with pytest.raises(sj.OwnedError, match=r"hub 'scene' of process \d+ on .*, since 2023-11-14 22:13:20 UTC"):
        sj.Hub("other", data=scene.files, clock=scene.clock)  # type: ignore[call-arg]


def test_a_hub_that_cannot_open_lets_go_of_the_folder(scene: Scene) -> None:
    scene.hub.close()
    scene.files.failing = {"sync": errno.EIO}
    with pytest.raises(sj.DiskError):
        scene.open()
    scene.files.failing = {}
    scene.open()


def test_old_segments_go_once_two_snapshots_have_them_and_outcomes_say_so() -> None:
    scene = Scene(segment_bytes=500, keep=1_000)
    for i in range(60):
        scene.hub.wait(f"k{i}", "paid", 5)
        scene.clock.advance(100)
    there = layout(scene.files)
    assert there.segments[0] > 1
    assert len(there.snapshots) == 2
    scene.check()
    hub = scene.reopen()
    assert hub.stats().expired == 60
    with pytest.raises(sj.OutcomesGoneError, match=r"outcomes after 0 are gone.*the oldest kept is"):
        list(hub.outcomes())
    assert [outcome.number for outcome in hub.outcomes(after=58)] == [59, 60]


def test_the_log_is_kept_within_its_size() -> None:
    scene = Scene(segment_bytes=500, keep_bytes=4_000)
    for i in range(200):
        scene.hub.wait(f"k{i}", "paid", 5)
        scene.clock.advance(10)
    assert sum(map(scene.files.size, map(segment_name, layout(scene.files).segments))) < 6_000
    scene.check()


# Time


def test_stamps_never_run_back_across_restarts(scene: Scene) -> None:
    scene.clock.advance(1_000)
    scene.hub.wait("k", "paid", 5_000)
    now_ms = scene.hub.now_ms()
    scene.hub.close()
    scene.clock.step_wall(-60_000)
    hub = scene.open()
    assert hub.now_ms() == now_ms
    scene.clock.advance(5_001)
    assert hub.get("#1") is None
    assert [outcome.at for outcome in hub.outcomes()] == [WALL_MS + 6_000]


def test_a_wall_clock_set_back_changes_nothing_but_is_recorded(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 5_000)
    scene.clock.step_wall(-3_600_000)
    scene.clock.advance(4_999)
    scene.hub.signal("k", "other")
    assert not wait.done()
    scene.clock.advance(2)
    assert wait.at == WALL_MS + 5_000
    assert scene.hub.stats().clock_steps == 1
    scene.check()


def test_a_wall_clock_set_ahead_is_followed_at_once(scene: Scene) -> None:
    wait = scene.hub.wait("k", "paid", 3_600_000)
    scene.clock.step_wall(7_200_000)
    assert (wait.outcome, wait.at) == ("expired", WALL_MS + 3_600_000)
    assert scene.hub.stats().clock_steps == 1
    scene.check()


def test_a_jump_beyond_max_step_is_refused_until_confirmed() -> None:
    scene = Scene(max_step="1 h")
    wait = scene.hub.wait("k", "paid", "30 min")
    scene.clock.step_wall(86_400_000)
    scene.hub.signal("k", "other")
    assert not wait.done()
    assert scene.hub.stats().refused_step_ms == 86_400_000
    assert scene.hub.confirm_step() == 86_400_000
    assert wait.outcome == "expired"
    assert scene.hub.stats().refused_step_ms == 0
    scene.check()


def test_opening_after_too_long_a_time_asks_for_a_larger_max_step(scene: Scene) -> None:
    scene.hub.wait("k", "paid", "1 day")
    scene.hub.close()
    scene.clock.step_wall(30 * 86_400_000)
    with pytest.raises(sj.ClockStepError, match=r"30 days later.*larger max_step"):
        scene.open()
    assert scene.open(max_step="60 days").pending == 0


def test_in_the_grace_signals_of_the_time_when_nobody_ran_still_count(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000, id="in-time")
    scene.hub.wait("l", "paid", 1_000, id="late")
    scene.hub.wait("m", "paid", 1_000, id="never")
    hub = scene.reopen(down_ms=5_000, recover_grace=500)
    assert hub.pending == 3
    assert hub.signal("k", "paid", at=WALL_MS + 1_000) == 0
    assert hub.signal("k", "paid", at=WALL_MS + 900) == 0
    assert hub.signal("l", "paid", at=WALL_MS + 1_001) == 0
    scene.check()
    scene.clock.advance(499)
    assert hub.pending == 3
    scene.clock.advance(1)
    told = {outcome.operation_id: (outcome.outcome, outcome.at) for outcome in hub.outcomes()}
    assert told == {
        "in-time": ("completed", WALL_MS + 900),
        "late": ("expired", WALL_MS + 1_000),
        "never": ("expired", WALL_MS + 1_000),
    }
    scene.check()


def test_in_the_grace_what_is_overdue_can_be_neither_cancelled_nor_extended(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000, id="over")
    scene.hub.wait("l", "paid", 9_000, id="not-over")
    hub = scene.reopen(down_ms=5_000, recover_grace=500)
    assert not hub.cancel("over")
    assert not hub.extend("over", 9_000)
    assert hub.shift(key_prefix="", by=9_000, dry_run=True) == hub.shift(key_prefix="", by=9_000) == 1
    assert hub.cancel_where(key_prefix="", dry_run=True) == hub.cancel_where(key_prefix="") == 1
    scene.clock.advance(500)
    assert {outcome.operation_id: outcome.outcome for outcome in hub.outcomes()} == {
        "not-over": "cancelled",
        "over": "expired",
    }
    scene.check()


def test_signals_held_in_a_grace_survive_a_crash_in_it(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 1_000, id="w")
    hub = scene.reopen(down_ms=5_000, recover_grace=500)
    hub.signal("k", "paid", at=WALL_MS + 800)
    scene.files = disk_after({}, scene.files.journal, none_of_it)
    scene.crash()
    hub = scene.open()
    assert hub.get("w").result().at == WALL_MS + 800  # type: ignore[union-attr]
    scene.check()


def test_a_signal_brings_its_own_time_only_in_the_grace(scene: Scene) -> None:
    with pytest.raises(sj.ConfigError, match="only during recover_grace"):
        scene.hub.signal("k", "paid", at=WALL_MS)
    hub = scene.reopen(recover_grace=100)
    with pytest.raises(sj.NotStorableError, match="when the hub started"):
        hub.signal("k", "paid", at=WALL_MS + 1)


def test_sync_by_the_operating_system_syncs_on_closing_and_before_a_new_segment() -> None:
    scene = Scene(sync="os", segment_bytes=600)
    for i in range(30):
        scene.hub.wait(f"k{i}", "paid", 1_000)
    position = scene.hub._engine.log.position
    lost = recover(disk_after({}, scene.files.journal, none_of_it))
    assert position.segment > 2
    assert 0 < len(lost.state.waits) < 30
    scene.hub.close()
    assert len(recover(disk_after({}, scene.files.journal, none_of_it)).state.waits) == 30


def test_an_empty_disk_is_an_empty_hub() -> None:
    assert recover(FaultyFiles()).state.next_seq == 1
    assert Scene(clock=ManualClock()).hub.pending == 0
