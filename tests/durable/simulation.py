"""Random programs for a durable hub, with crashes, held to what was answered: `simulate(seed)`.

The process dies at any operation on a file, the power fails and takes what was not synced, the disk fills up and fails,
the wall clock is set; segments are so small that snapshots and retention happen all the time, at once or between later
calls. Beside it run models of what has happened: more than one while nobody can know whether an interrupted call did.
Each program dies at least once. Most are a few calls long: so there can be a million of them.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import sojourn as sj
from durable.faulty_files import FaultyFiles, Killed, disk_after, some_of_it
from durable.model import RULES, Asked, Model, Operation, in_memory, look
from durable.scene import WALL_MS, check_verified, picture
from durable.spare_index import spare_indexes
from sojourn.durable import Reader, Told
from sojourn.durable.index.cold import MEMORY, WAIT_BYTES
from sojourn.durable.log.records import GRACE_OVER
from sojourn.durable.recovery.recovery import recover
from sojourn.durable.state.state import State
from sojourn.durable.state.wait import explanation, row_of, told_of
from sojourn.testing import ManualClock

KEYS = ("a", "aa", "b", "c")
KINDS = ("paid", "packed", "void", "beat", "ack")
MAX_STEP_MS = 3_600_000
VERIFIED = 0.02
"""The share of programs whose log is replayed by the pipeline at the end: it takes longer than a program."""
SHORT, LONG = (2, 8), (10, 40)
"""Steps of a program. Whatever goes wrong mostly does so in a short one; some take longer to come to it."""


def simulate(seed: int, folder: str | None = None) -> World:
    """A program with its crashes; `AssertionError` if something is not as it was promised.

    `folder` is for the file of an index. Whoever runs many programs has one for all of them: making it would take
    longer than a program does.
    """
    if folder is None:
        with tempfile.TemporaryDirectory() as new:
            return simulate(seed, new)
    with spare_indexes():
        world = World(seed, os.path.join(folder, "index.db"))
        for _ in range(world.random.randrange(*world.steps)):
            world.step()
        if not world.crashes:
            world.crash([])
        world.end()
        return world


class Later:
    """Work that a hub would do in a thread beside its calls: done between two of them, or when somebody waits."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work

    def is_alive(self) -> bool:
        return self._work is not None

    def join(self, timeout_s: float | None = None) -> None:
        work, self._work = self._work, None
        if work is not None:
            work()


class World:
    """A disk, a hub on it, the models, and a reader of outcomes that keeps its cursor."""

    def __init__(self, seed: int, index_path: str = "") -> None:
        self.random = random = Random(seed)
        self.steps = LONG if random.random() < 0.02 else SHORT
        self.remember = random.choice((None, None, 60))
        self.options: dict[str, Any] = {
            "remember": self.remember,
            "sync": random.choice(("always", "always", "always", "os")),
            "segment_bytes": random.choice((300, 800, 2_000, 10_000)),
            "keep": random.choice((0, 200, "7 days")),
            "keep_bytes": random.choice((None, 3_000)),
            "max_step": MAX_STEP_MS,
            "remember_ids": "1000 days",
            "memory": random.choice((0, 2 * WAIT_BYTES, 5 * WAIT_BYTES, MEMORY)),
        }
        self.is_watched = random.random() < 0.1
        """Whether everything is compared after each step; otherwise only what is answered, and all after each start."""
        self.is_late = random.random() < 0.5
        """Whether upkeep is done between later calls, and not at once."""
        self.is_verified = random.random() < VERIFIED
        self.grace = random.choice((0, 0, 100))
        self.compared = 8 if self.remember and self.grace else 11
        """Columns of outcomes. Of signals of one instant, held in a grace and then recalled, any may be the last one
        that was needed: outcome and times are the same, words are not."""
        self.files, self.clock = FaultyFiles(), ManualClock(wall_ms=WALL_MS)
        self.files.index_path = self.index_path = random.choice(("", "", index_path))
        self.models = [Model([], self.remember)]
        self.told: dict[int, Told] = {}
        """What the reader has been told, by number."""
        self.last = 0
        self.failed: list[Operation] = []
        """What was refused by a disk that failed: while the hub lives, it has not happened; then, one may have."""
        self.safe = 0
        """How many operations the disk is sure to have, even with `sync="os"`."""
        self.crashes = self.restarts = 0
        self.down_from = WALL_MS
        """Since when nobody runs, or did until the last start."""
        self.reader: Reader | None = None
        self.forget_index()
        self.open()

    # Steps

    def step(self) -> None:
        random = self.random
        if random.random() < 0.15:
            self.files.kill_after = random.randrange(12)
        elif random.random() < 0.06:
            self.break_disk()
        elif random.random() < 0.4:
            self.files.room, self.files.failing = None, {}
        self.attempt(random.choice(self.verbs()))
        if random.random() < 0.4:
            self.attempt(self.hub._engine._upkeep.join)
        if random.random() < 0.05:
            self.restart()
        elif random.random() < 0.04:
            self.crash([])

    def verbs(self) -> list[Callable[[], object]]:
        return [
            *[self.wait] * 4,
            *[self.signal] * 5,
            *[self.advance] * 3,
            self.extend,
            self.cancel,
            self.cancel_where,
            self.shift,
            self.set_clock,
        ]

    def attempt(self, verb: Callable[[], object]) -> None:
        self.asked: list[Operation] = []
        try:
            verb()
        except Killed:
            self.crash(self.asked)
            return
        if self.is_dead:  # the timer has swallowed it
            self.crash(self.asked)
        elif self.is_watched:
            self.check()

    @property
    def is_dead(self) -> bool:
        return self.files.kill_after == -1

    def ask(self, verb: str, *given: Any) -> None:
        """Let the hub do it; once it is answered the models do it too, and answer the same."""
        operation = Operation(self.hub.now_ms(), verb, given)
        self.asked = [operation]
        try:
            answer = self.call(verb, *given)
        except sj.DiskError:
            self.failed.append(operation)
            return
        self.failed = []
        answers = [model.do(operation) for model in self.models]
        is_known = verb != "signal" or self.hub._engine.state.grace_until is None
        if is_known:
            self.models = [model for model, expected in zip(self.models, answers, strict=True) if expected == answer]
            assert self.models, f"{operation} was answered {answer}, and should be {answers}"

    def call(self, verb: str, *given: Any) -> Any:
        hub = self.hub
        match verb:
            case "wait":
                return self.call_wait(*given)
            case "signal":
                ids, signals = zip(*given, strict=True)
                return hub.signal_many(signals, ids=ids)
            case "cancel_where":
                return hub.cancel_where(rule=given[0], key_prefix=given[1])
            case "shift":
                return hub.shift(rule=given[0], key_prefix=given[1], by=given[2])
            case _:
                return getattr(hub, verb)(*given)

    def call_wait(self, *wanted: tuple[str | None, Asked]) -> Any:
        ids = [given_id for given_id, _ in wanted]
        keys: list[Any] = [list(asked.keys) for _, asked in wanted]
        payloads = [asked.payload for _, asked in wanted]
        try:
            waits = self.hub.wait_many(keys, **wanted[0][1].until, ids=ids, payloads=payloads)
        except sj.IdTakenError:
            return "IdTakenError"
        return [wait.seq for wait in waits]

    def wait(self) -> None:
        random = self.random
        rule: Any = random.choice((*RULES, (random.randrange(1, 9), random.randrange(90))))
        wanted = []
        for _ in range(random.choice((1, 1, 1, 3))):
            keys = random.choice((KEYS[:1], KEYS[1:2], KEYS[2:3], KEYS[:3]))
            given_id = random.choice((None, f"w{random.randrange(8)}"))
            wanted.append((given_id, Asked(keys, rule, random.choice((None, None, {"n": 1})))))
        self.ask("wait", *wanted)

    def signal(self) -> None:
        random = self.random
        signals = []
        for _ in range(random.choice((1, 1, 1, 4))):
            given_id = random.choice((None, f"s{random.randrange(12)}"))
            source = random.choice((None, "s", 7))
            what = (random.choice(KINDS), source) if random.random() < 0.7 else ("coin", source or 1, 3.5)
            signals.append((given_id, (random.choice(KEYS), *what)))
        self.ask("signal", *signals)

    def advance(self) -> None:
        self.clock.advance(self.random.choice((1, 20, 90)))

    def extend(self) -> None:
        if (wait_id := self.some_id()) is not None:
            self.ask("extend", wait_id, self.random.randrange(150))

    def cancel(self) -> None:
        if (wait_id := self.some_id()) is not None:
            self.ask("cancel", wait_id)

    def some_id(self) -> str | None:
        waits = self.hub.list()
        return self.random.choice(waits).id if waits else None

    def where(self) -> tuple[str | None, str | None]:
        return self.random.choice((("shipped", None), (None, "a"), ("level", "b"), ("alive", "")))

    def cancel_where(self) -> None:
        if self.random.random() < 0.5:
            self.ask("cancel_where", *self.where())

    def shift(self) -> None:
        self.ask("shift", *self.where(), self.random.randrange(1, 90))

    def set_clock(self) -> None:
        """Short naps do not watch the wall clock: it is noticed with the next call."""
        self.clock.step_wall(self.random.choice((-60_000, -2_000, 1_500, 5_000)))
        self.ask("signal", (None, ("nobody", "nothing")))

    def break_disk(self) -> None:
        if self.random.random() < 0.5:
            self.files.room = self.random.randrange(300)
        else:
            what = self.random.choice(("write", "sync", "create"))
            self.files.failing = {what: self.random.choice((errno.EIO, errno.EROFS, errno.ENOSPC))}

    def signal_late(self) -> None:
        """In the grace, some bring what they could not deliver while nobody ran."""
        now_ms = self.hub.now_ms()
        ats: list[int] = []
        if self.down_from <= now_ms:  # and not earlier, by a wall clock that was set back
            ats = sorted(self.random.randrange(self.down_from, now_ms + 1) for _ in range(self.random.randrange(3)))
        signals = [(None, (self.random.choice(KEYS), self.random.choice(KINDS), "late")) for _ in ats]
        self.asked = [Operation(at, "signal", (signal,)) for at, signal in zip(ats, signals, strict=True)]
        if self.asked:
            with suppress(sj.DiskError):
                self.hub.signal_many([signal for _, signal in signals], ats=ats)
                self.models = [model.with_also(self.asked) for model in self.models]
        self.check()

    # Ends and beginnings

    def restart(self) -> None:
        self.restarts += 1
        self.down_from = self.hub.now_ms()
        self.files.room, self.files.failing = None, {}
        with suppress(Killed):
            self.hub.close()
        if self.is_dead:
            self.crash([])
        else:
            self.open()

    def crash(self, interrupted: list[Operation]) -> None:
        """The process dies; perhaps the power failed as well. What was not answered has happened or not."""
        self.crashes += 1
        self.down_from = self.hub.now_ms()
        self.bury()
        self.files.room, self.files.failing = None, {}
        done = [model.operations for model in self.models]
        unanswered = [*filter(None, [interrupted, *([operation] for operation in self.failed)])]
        possible = [[*operations, *more] for operations in done for more in ([], *unanswered)]
        if self.random.random() < 0.5:
            if self.options["sync"] == "os":  # of what was not synced, the beginning is there
                possible += [operations[:n] for operations in done for n in range(self.safe, len(operations))]
                self.told, self.last = {}, 0
            self.files = disk_after(self.files.base, self.files.journal, some_of_it(self.random.randrange(2**32)))
            self.files.index_path = self.index_path
            self.forget_index()
            self.reader = None
        self.clock.advance(self.random.choice((0, 0, 40, 300)))
        self.open(possible)

    def forget_index(self) -> None:
        """It is of another boot, or of another program: it would be thrown away."""
        for end in ("", "-sum", "-journal") if self.index_path else ():
            with suppress(FileNotFoundError):
                os.remove(f"{self.index_path}{end}")

    def bury(self) -> None:
        """What goes with a process. An index that it was writing is rolled back by the next one."""
        self.hub.timer.close()
        self.hub._engine._nap.end()
        self.hub._engine.index.give_back()
        self.files.process_dies()

    def open(self, possible: list[list[Operation]] | None = None) -> None:
        """It may be killed while it opens, too. `possible` is all that may have happened so far, if that is not clear.

        What had no effect left no record: so its time need not be known, either, if the wall clock was set back.
        """
        if self.random.random() < 0.2:
            self.files.kill_after = self.random.randrange(10)
        while True:
            try:
                options = self.options | {"recover_grace": self.grace}
                self.hub: Any = sj.Hub("world", data=self.files, clock=self.clock, **options)  # type: ignore[call-arg]
            except Killed:
                self.files.process_dies()
                continue
            if not self.is_dead:
                break
            self.bury()
        if self.is_late:
            self.do_upkeep_later(self.hub._engine._upkeep)
        if possible is not None:
            now_ms = self.hub.now_ms()
            self.models = [
                Model([operation for operation in operations if operation.at <= now_ms], self.remember)
                for operations in possible
            ]
        self.failed = []
        self.safe = min(len(model.operations) for model in self.models)
        if self.grace:
            self.attempt(self.signal_late)
        elif self.crashes or self.restarts or self.is_watched:
            self.attempt(self.check)

    def do_upkeep_later(self, upkeep: Any) -> None:
        def begin(work: Callable[[], None]) -> None:
            upkeep._working = Later(work)

        upkeep._in_background, upkeep._begin = True, begin

    def end(self) -> None:
        """With a disk that works, everything comes to its end."""
        self.files.kill_after = None
        self.files.room, self.files.failing = None, {}
        self.clock.advance(20_000)
        self.asked = []
        self.ask("signal", (None, ("nobody", "nothing")))
        self.check()
        assert self.hub.pending == 0
        self.hub.close()
        if self.is_verified:
            check_verified(self.files)

    # What was promised

    def check(self) -> None:
        """The hub is what its log says, has told what has ended, and what the log says is what was answered."""
        engine, now_ms = self.hub._engine, self.hub.now_ms()
        state = recover(self.files, until=engine.log.position).state
        engine.state.check()
        assert picture(engine.state) == picture(state)
        if self.is_watched:
            self.reader = self.reader or Reader(self.files)
            beside = self.reader._state()
            assert self.hub.stats().is_failing or picture(beside) == picture(state)
        self.read_outcomes()
        if state.grace_until is not None:
            state.apply(GRACE_OVER, [now_ms])
        elif not self.hub.stats().is_failing:
            assert not state.untold
            assert all(wait._due >= now_ms for wait in state.waits.values())
        while state.expire(now_ms, 1_000):
            pass
        for model in self.models:
            model.advance_to(now_ms)
        reasons = [self.difference(model, state) for model in self.models]
        assert None in reasons, f"not as answered: {reasons}"
        alike = [model for model, reason in zip(self.models, reasons, strict=True) if reason is None]
        self.models = alike if self.options["sync"] == "os" else alike[:1]  # a power failure may tell them apart again

    def difference(self, model: Model, state: State) -> str | None:
        """How the state, in which everything has ended that is over, is not what the model says; None if it is."""
        now_ms = self.hub.now_ms()
        pending = {
            wait.seq: (wait.given_id, wait.keys, wait.rule, wait.payload, *look(wait), explanation(wait, now_ms))
            for wait in state.waits.values()
        }
        if pending != model.pending():
            return f"pending are {pending}, and should be {model.pending()}"
        known = state.signal_ids, in_memory(state.memory, now_ms)
        if known != model.known():
            return f"known are {known}, and should be {model.known()}"
        untold = [told_of(0, row_of(wait)) for wait in state.untold.values()]
        ended = [number for number in model.waits if model.outcome(number) is not None]
        if self.last + len(untold) != len(ended):
            return f"{self.last} were told, {untold} are to be, and ended have {ended}"
        for outcome in (*self.told.values(), *untold):
            number = model.number_of(outcome.operation_id)
            expected = None if number is None else model.outcome(number)
            if expected is None or tuple(outcome)[1 : 1 + self.compared] != expected[: self.compared]:
                return f"told is {outcome}, and should be {expected}"
        return None

    def read_outcomes(self) -> None:
        """As far as the log goes back, what was told stays as it was; the new ones follow without a gap."""
        for outcome in self.outcomes_from(0):
            assert outcome == self.told.setdefault(outcome.number, outcome), f"{outcome} was {self.told}"
        for outcome in self.outcomes_from(self.last):
            assert outcome.number == self.last + 1
            self.told[outcome.number] = outcome
            self.last = outcome.number
        assert self.last == self.hub.stats().last_number

    def outcomes_from(self, number: int) -> list[Told]:
        """Those after a number; if they are gone, those that are not."""
        try:
            return list(self.hub.outcomes(after=number))
        except sj.OutcomesGoneError as gone:
            oldest = int(str(gone).partition("the oldest kept is ")[2].partition(";")[0])
            self.last = max(self.last, oldest - 1)
            return list(self.hub.outcomes(after=oldest - 1))
