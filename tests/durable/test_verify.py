"""What was told is what a replay of the log gives; and what is not, is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pytest

pytest.importorskip("pyarrow", exc_type=ImportError)

import sojourn as sj
from durable.faulty_files import FaultyFiles
from durable.scene import WALL_MS, Scene
from durable.test_twin import RULES
from sojourn.durable import verify
from sojourn.durable.dataset.verify import ask
from sojourn.durable.log import records as r

VALUES = ((2, 3.5), (2, Decimal("3.5")), (0.1, Decimal("0.7"), 3), (0.1, 0.7, 2.2))
CONDITIONS = ("paid", sj.seen("ack", 2, "source"), sj.total("coin", at_least=6))


class Program:
    """Everything that a hub can do, with restarts, graces, signals that bring their own times, and memories."""

    def __init__(self, seed: int, segment_bytes: int = 3_000) -> None:
        self.random = Random(seed)
        self.values = self.random.choice(VALUES)
        self.remember = self.random.choice(((None,), (30,), (None, 20, 50)))
        self.scene = Scene(segment_bytes=segment_bytes, remember=self.random.choice(self.remember))

    def run(self, steps: int) -> Scene:
        for number in range(steps):
            self.step(number)
        return self.scene

    def step(self, number: int) -> None:
        hub, random = self.scene.hub, self.random
        key = random.choice("abcd")
        waits, where = hub.list(), random.choice(({"rule": random.choice(RULES).name}, {"key_prefix": "a"}))
        match random.randrange(16):
            case 0 | 1:
                hub.wait(random.choice((key, ["a", "b"])), rule=random.choice(RULES), id=f"w{number}")
            case 2:
                hub.wait(key, random.choice(CONDITIONS), random.randrange(120))
            case 3 | 4 | 5:
                kind = random.choice(("paid", "packed", "void", "beat", "ack"))
                hub.signal(key, kind, random.choice((None, "s", 7, "7")), at=self.own_time())
            case 6:
                hub.signal(key, "coin", random.choice((None, "s", 7)), random.choice(self.values), at=self.own_time())
            case 7 | 8 if waits:
                hub.extend(random.choice(waits), random.randrange(90))
            case 9 if waits:
                hub.cancel(random.choice(waits))
            case 10 if random.random() < 0.4:
                hub.cancel_where(**where)  # type: ignore[arg-type]
            case 10:
                hub.shift(**where, by=random.randrange(1, 60))  # type: ignore[arg-type]
            case 11 | 12 | 14 | 15:
                self.scene.clock.advance(random.randrange(40))
            case 13 if random.random() < 0.5:
                self.restart()

    def own_time(self) -> int | None:
        state = self.scene.hub._engine.state
        if state.grace_until is None or self.random.random() < 0.3:
            return None
        return state.grace_until - state.settings.grace_ms - self.random.randrange(80)

    def restart(self) -> None:
        self.scene.reopen(
            down_ms=self.random.randrange(60),
            recover_grace=self.random.choice((0, 30, 60)),
            remember=self.random.choice(self.remember),
            remember_most=self.random.choice((3, 100_000)),
        )


@pytest.mark.parametrize("seed", range(60))
def test_every_outcome_of_a_program_comes_out_again(seed: int) -> None:
    scene = Program(seed).run(100)
    verified = verify(scene.files)
    assert verified.is_same, f"seed {seed}: {verified.differences}"
    assert verified.checked == verified.told == scene.hub.stats().last_number
    scene.clock.advance(5_000)
    scene.clock.advance(5_000)
    scene.hub.signal("c", "nothing")
    verified = verify(scene.files)
    assert verified.is_same, f"seed {seed}: {verified.differences}"
    assert (verified.pending, verified.untold) == (0, 0)


def test_programs_have_waits_of_every_sort() -> None:
    """Most are judged by the times of signals alone; some by what they heard; and some one by one."""
    asked = [ask(Program(seed).run(100).files) for seed in range(20)]
    waits = sum(len(one.history.waits) for one in asked)
    particular = sum(len(one.history.hearings) for one in asked)
    assert 0.1 * waits < particular < 0.9 * waits
    assert any(one.single for one in asked)
    assert any(one.rough for one in asked)


def test_what_has_not_ended_is_pending_as_of_the_last_record(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100)
    scene.hub.wait("l", "paid", 10)
    scene.clock.advance(50)
    scene.hub.signal("m", "paid")
    verified = verify(scene.files)
    assert (verified.told, verified.pending, verified.untold, verified.as_of) == (1, 1, 0, WALL_MS + 50)


def test_what_was_about_to_be_told_is_counted_as_that(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100)
    scene.hub.close()
    scene.clock.advance(1_000)
    scene.open(recover_grace=500)
    verified = verify(scene.files)
    assert (verified.is_same, verified.pending, verified.untold) == (True, 0, 1)


def test_an_empty_folder_verifies() -> None:
    assert verify(FaultyFiles())[:6] == (0, 0, 0, 0, 0, 0)


# What is told wrongly is found


def rewritten(files: FaultyFiles, change: Callable[[list[Any]], None]) -> FaultyFiles:
    """The same log, with something else in the records of outcomes."""
    contents = {}
    for name, data in files.contents.items():
        start = r.start_of_records(data, "LOG", name)
        written = [data[:start]]
        for record in r.records(data, start, len(data), name):
            body = r.read_body(record.body)
            if record.type == r.TOLD:
                change(body)
            written.append(r.framed(record.type, r.json_bytes(body), 0))
        contents[name] = b"".join(written)
    return FaultyFiles(contents)


def with_outcomes() -> Scene:
    scene = Scene()
    scene.hub.wait("k", "paid", 100, id="w", payload=[1])
    scene.hub.wait("l", "paid", 100)
    scene.clock.advance(7)
    scene.hub.signal("k", "paid")
    scene.clock.advance(1_000)
    return scene


def set_row(place: int, value: Any, number: int = 1) -> Callable[[list[Any]], None]:
    def change(body: list[Any]) -> None:
        if body[1] == number:
            body[2][0][place] = value

    return change


def told_early(body: list[Any]) -> None:
    if body[1] == 2:
        body[0] = WALL_MS + 100


def told_twice(body: list[Any]) -> None:
    body[2] = body[2] * 2 if body[1] == 2 else body[2]


def number_left_out(body: list[Any]) -> None:
    body[1] += body[1] == 2


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (set_row(6, "expired"), "expired at .*07 UTC; by the law: completed at .*07 UTC"),
        (set_row(7, WALL_MS + 8), "completed at .*08 UTC; by the law: completed at .*07 UTC"),
        (set_row(6, "cancelled"), "cancelled at .*07 UTC; by the law: completed at .*07 UTC"),
        (set_row(7, WALL_MS + 6), "completed at .*06 UTC; by the law: completed at .*07 UTC"),
        (set_row(3, "other"), "w: outcome 1"),
        (set_row(1, "other"), "other: outcome 1"),
        (set_row(2, "other"), "w: outcome 1"),
        (set_row(4, WALL_MS + 1), "w: outcome 1"),
        (set_row(5, WALL_MS + 99, 2), "#2: outcome 2"),
        (set_row(11, [2]), "w: outcome 1"),
        (told_early, "#2: outcome 2, told at"),
        (told_twice, "#2: outcome 2"),
        (number_left_out, "outcome 3: told after outcome 1; by the law: numbers have no gaps"),
    ],
)
def test_what_was_told_wrongly_is_shown(change: Callable[[list[Any]], None], shown: str) -> None:
    scene = with_outcomes()
    assert verify(scene.files).is_same
    verified = verify(rewritten(scene.files, change))
    assert not verified.is_same
    assert any(re.search(shown, str(difference)) for difference in verified.differences), verified


@pytest.mark.java
@pytest.mark.parametrize("seed", [3, 17])
def test_spark_says_the_same(seed: int, spark: Any) -> None:
    scene = Program(seed).run(150)
    verified = verify(scene.files, engine="both", spark=spark)
    assert verified.is_same, f"seed {seed}: {verified.differences}"
    assert verified == verify(scene.files)._replace(engines=("local", "spark"))
    wrong = rewritten(with_outcomes().files, set_row(7, WALL_MS + 8))
    assert verify(wrong, engine="spark", spark=spark).different == 1


def test_an_engine_that_is_not_there_is_refused() -> None:
    with pytest.raises(sj.ConfigError, match="not known"):
        verify(FaultyFiles(), engine="abacus")  # type: ignore[arg-type]
    with pytest.raises(sj.ConfigError, match="needs a Spark session"):
        verify(FaultyFiles(), engine="spark")


def test_a_signal_of_its_own_time_is_only_for_those_who_waited_when_it_came(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100, id="w")
    scene.clock.advance(5)
    assert scene.hub.cancel("w")
    scene.reopen(10, recover_grace=20)
    scene.hub.signal("k", "paid", at=WALL_MS + 3)
    scene.clock.advance(50)
    (told,) = scene.hub.outcomes()
    assert (told.outcome, told.at) == ("cancelled", WALL_MS + 5)


def test_signals_held_in_a_grace_count_in_the_order_of_their_times(scene: Scene) -> None:
    scene.hub.wait("k", "paid", 100)
    scene.reopen(50, recover_grace=20)
    for at in (30, 20):
        scene.hub.signal("k", "paid", at=WALL_MS + at)
    scene.clock.advance(50)
    (told,) = scene.hub.outcomes()
    assert (told.outcome, told.at) == ("completed", WALL_MS + 20)


def test_a_source_that_is_a_number_is_not_the_text_of_it(scene: Scene) -> None:
    scene.hub.wait("k", sj.seen("ack", 2, "source"), 100)
    assert [scene.hub.signal("k", "ack", source) for source in (7, 7, "7")] == [0, 0, 1]


def test_floats_are_added_as_floats(scene: Scene) -> None:
    scene.hub.wait("k", sj.total("coin", at_least=0.8), 100)
    assert [scene.hub.signal("k", "coin", None, value) for value in (0.1, 0.7)] == [0, 0]
    scene.clock.advance(200)
    assert [outcome.outcome for outcome in scene.hub.outcomes()] == ["expired"]
