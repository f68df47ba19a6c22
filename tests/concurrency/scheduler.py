"""Every interleaving of a small concurrent program, found by running it again and again.

Actors are real threads, but only the one that holds the baton runs. At a *decision point* (a lock, a clock, a callback,
or every line of given files) the actor stops and the schedule says who goes on. A run is its list of choices; `explore`
goes through all of them depth first: it changes the last choice that has an alternative left, and starts afresh.

A failure carries the choices that led to it: `explore(program, schedule=[...])` runs just that one again.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple, NoReturn

Body = Callable[[], object]

MOST_STEPS = 5_000
GUARD_S = 30


class DeadlockError(Exception):
    """Nobody can go on, and not everybody has finished."""


class EndlessError(Exception):
    """The actors are busy for ever."""


class FailedRunError(AssertionError):
    """A run broke a promise; the message has the schedule to replay."""


class Choice(NamedTuple):
    chosen: int
    options: int


class Actor:
    """A thread that runs one body after another, whenever it is handed the baton."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.name = name
        self.body: Body | None = None
        self.is_ready: Callable[[], bool] | None = None
        self.is_done = False
        self.baton = closed_gate()
        self.thread = threading.Thread(target=self._loop, args=(stage,), name=name, daemon=True)
        self.thread.start()

    def can_go_on(self) -> bool:
        return not self.is_done and (self.is_ready is None or self.is_ready())

    def _loop(self, stage: Stage) -> None:
        while True:
            self.baton.acquire()
            if self.body is None:
                return
            try:
                sys.settrace(stage.tracer)
                self.body()
                sys.settrace(None)
            except BaseException as failure:
                stage.end(failure)
            self.is_done = True
            stage.hand_over(self, "end")


class Stage:
    """Where actors take turns. Outside a run, in the hands of the test itself, nothing here stops anybody."""

    def __init__(self, actors: int, *, preemptions: int | None = None, traced: Sequence[str] = ()) -> None:
        self.actors = [Actor(self, "abc"[i]) for i in range(actors)]
        self.current: Actor | None = None
        self.idle: Callable[[], bool] = lambda: False
        self.choices: list[Choice] = []
        self.story: list[str] = []
        self.tracer = self._trace if traced else None
        self._preemptions = preemptions
        self._traced = tuple(traced)
        self._knows: dict[CodeType, bool] = {}
        self._planned: list[int] = []
        self._left = 0
        self._failure: BaseException | None = None
        self._curtain = closed_gate()

    def point(self, what: str) -> None:
        """A decision point: another actor may go on before this one does."""
        if self.current is not None:
            self.hand_over(self.current, what)

    def wait_until(self, is_ready: Callable[[], bool], what: str) -> None:
        """A decision point at which this actor goes on only once `is_ready()`."""
        actor = self.current
        if actor is None:
            assert is_ready(), f"{what}: nobody else is there to wait for"
            return
        actor.is_ready = is_ready
        self.hand_over(actor, what)
        actor.is_ready = None

    def play(self, bodies: Sequence[Body], planned: list[int]) -> None:
        """Run the bodies, following the planned choices as far as they go and the first option from there on."""
        self.choices, self.story, self._planned = [], [], planned
        self._left = sys.maxsize if self._preemptions is None else self._preemptions
        for actor, body in zip(self.actors, bodies, strict=True):
            actor.body, actor.is_done, actor.is_ready = body, False, None
        self._choose(None).baton.release()
        if not self._curtain.acquire(timeout=GUARD_S):
            self._failure = DeadlockError(f"stuck outside our reach, say at a real lock:\n{self._whereabouts()}")
        self.current = None
        if self._failure is not None:
            raise self._failure

    def hand_over(self, actor: Actor, what: str) -> None:
        self.story.append(f"{actor.name}:{what}")
        if len(self.story) > MOST_STEPS:
            self.end(EndlessError(f"no end in sight after {MOST_STEPS} steps"))
        if all(other.is_done for other in self.actors):
            self._curtain.release()
            return
        successor = self._choose(actor)
        if successor is not actor:
            has_ended = actor.is_done  # once the baton is gone the next run may have begun
            successor.baton.release()
            if not has_ended:
                actor.baton.acquire()

    def end(self, failure: BaseException) -> NoReturn:
        """Stop here. The actors stay where they are, for good: they are daemons, and hold nothing real."""
        if self.current is None:
            raise failure
        self._failure = failure
        self._curtain.release()
        while True:
            closed_gate().acquire()

    def _whereabouts(self) -> str:
        frames = sys._current_frames()
        return "\n".join(
            f"{actor.name}{' (current)' * (actor is self.current)}:\n{''.join(traceback.format_stack(frames[ident]))}"
            for actor in self.actors
            if (ident := actor.thread.ident) in frames
        )

    def dismiss(self) -> None:
        for actor in self.actors:
            actor.body = None
            actor.baton.release()
            actor.thread.join()

    def _choose(self, actor: Actor | None) -> Actor:
        """Who goes on: the planned one, else the actor itself if it can."""
        able = [other for other in self.actors if other is not actor and other.can_go_on()]
        can_go_on = actor is not None and actor.can_go_on()
        if can_go_on:
            able = [actor, *able] if self._left else [actor]
        elif not able:
            if self.idle():
                return self._choose(actor)
            self.end(DeadlockError(", ".join(f"{actor.name} is stuck" for actor in self.actors if not actor.is_done)))
        chosen = 0
        if len(able) > 1:
            nth = len(self.choices)
            chosen = self._planned[nth] if nth < len(self._planned) else 0
            self.choices.append(Choice(chosen, len(able)))
        if can_go_on and chosen:
            self._left -= 1
        self.current = able[chosen]
        return self.current

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if code not in self._knows:
            self._knows[code] = code.co_filename.endswith(self._traced)
        if not self._knows[code]:
            return None
        if event == "line":
            self.point(f"{code.co_name}:{frame.f_lineno}")
        return self._trace


class Program(NamedTuple):
    """What the actors do, and what must hold when all have finished."""

    bodies: Sequence[Body]
    check: Body


def explore(
    program: Callable[[Stage], Program],
    actors: int,
    *,
    preemptions: int | None = None,
    traced: Sequence[str] = (),
    schedule: list[int] | None = None,
    most: int = 100_000,
) -> int:
    """Run every interleaving of the program and return how many there are.

    With `preemptions`, every one in which an actor that could go on is interrupted at most so often. With `traced`,
    each line of these files is a decision point too. More than `most` runs are a mistake in the program.
    """
    stage = Stage(actors, preemptions=preemptions, traced=traced)
    planned, runs = schedule or [], 0
    while True:
        bodies, check = program(stage)
        try:
            stage.play(bodies, planned)
            check()
        except BaseException as failure:
            choices = [choice.chosen for choice in stage.choices]
            story = " ".join(stage.story[-200:])
            raise FailedRunError(f"run {runs}, schedule={choices}: {failure!r}\n{story}") from failure
        runs += 1
        assert runs <= most, f"more than {most} interleavings: make the program smaller"
        planned = next_choices(stage.choices)
        if not planned or schedule is not None:
            stage.dismiss()
            return runs


def next_choices(choices: list[Choice]) -> list[int]:
    """The next path, depth first; empty when there is none."""
    while choices and choices[-1].chosen + 1 == choices[-1].options:
        choices.pop()
    return [choice.chosen for choice in choices[:-1]] + [choices[-1].chosen + 1] if choices else []


def closed_gate() -> threading.Lock:
    gate = threading.Lock()
    gate.acquire()
    return gate
