"""The two builds are one: the same calls leave the same traces, down to which bucket holds how many tasks."""

from __future__ import annotations

from typing import Any

from contract.heap_reference import HEAP
from model.machine import Side, TimerMachine
from support import COMPILED, PURE


class EqualMachine(TimerMachine):
    builds = (PURE, COMPILED)

    def account(self, side: Side, timer: Any) -> Any:
        timer._check()
        return timer.nap_ns(), timer.stats(), timer.occupancy()  # in this order: the others put things in order first


class HeapMachine(TimerMachine):
    """The reference of the contract suite is held to the same model."""

    builds = (HEAP, None)


TestPureAndCompiledLeaveTheSameTraces = EqualMachine.TestCase
TestTheHeapReferenceDoesWhatTheModelDoes = HeapMachine.TestCase
