"""Any sequence of calls on tiny wheels does what the model in `world.py` does, and keeps every invariant."""

from __future__ import annotations

from model.machine import TimerMachine
from support import COMPILED, PURE


class PureMachine(TimerMachine):
    builds = (PURE, None)


class CompiledMachine(TimerMachine):
    builds = (COMPILED, None)


TestPureWheelDoesWhatTheModelDoes = PureMachine.TestCase
TestCompiledWheelDoesWhatTheModelDoes = CompiledMachine.TestCase
