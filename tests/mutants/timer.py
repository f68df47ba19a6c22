"""Bugs for the timer: the pure wheel and timer, what both builds share, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

WHEEL = "src/sojourn/timer/_wheel.py"
ARGUMENTS = "src/sojourn/_arguments.py"
TIMER = "src/sojourn/timer/_timer.py"
TASK = "src/sojourn/timer/_task.py"
CLOCK = "src/sojourn/clock.py"
SYSTEM = "src/sojourn/timer/system.py"
DRIVERS = "src/sojourn/timer/drivers.py"
CORE = "src/sojourn/timer/_core.pyx"

MUTANTS = [
    # What is refused
    Mutant("a pending task can be copied", TASK, "        raise not_to_be_copied(self)\n\n    def _let_go", "        return super().__reduce_ex__(protocol)\n\n    def _let_go"),
    Mutant("a name may be anything", ARGUMENTS, "    if not isinstance(name, str):", "    if False:"),
    Mutant("a clock may be anything", ARGUMENTS, '    if not _has(clock, "now_ns", "wall_ns", "wait"):', "    if False:"),
    Mutant("an executor may be anything", ARGUMENTS, '    if executor is not None and not _has(executor, "submit"):', "    if False:"),
    Mutant("a time without end is waited for", SYSTEM, "        if until_ns > MAX_MS * NS_PER_MS:", "        if False:"),
    Mutant("off by one at a bucket's edge", WHEEL, "if entry._due > self.last:", "if entry._due > self.last + 1:"),
    Mutant("interval one bucket short", WHEEL, "+ self.size) * self.tick - 1", "+ self.size - 1) * self.tick - 1"),
    Mutant("overflow wheel with the wrong tick", WHEEL, "TimingWheel(self.tick * self.size,", "TimingWheel(self.tick * self.size * 2,"),
    Mutant("sinking tasks go last", WHEEL, "        if sinking:\n", "        if not sinking:\n"),
    Mutant("coarsest wheel sinks first", WHEEL, "candidate[0] < first[0] or", "candidate[0] <= first[0] or"),
    Mutant("lowest wheel before the ones that must sink", WHEEL, "candidate[0] == first[0] and", "False and"),
    Mutant("occupancy bit not set", WHEEL, "self.occupied |= 1 << bucket.index", "self.occupied |= 0"),
    Mutant("occupancy bit not cleared", WHEEL, "self.wheel.occupied &= ~(1 << self.index)", "pass"),
    Mutant("emptied bucket not noticed by cancel", WHEEL, "if before is after:", "if False:"),
    Mutant("overflow wheels are not turned", WHEEL, "                self.overflow.turn_to(now)", "                pass"),
    Mutant("bits behind the position forgotten", WHEEL, "else lowest_bit(self.occupied) + self.size - at", "else 0"),
    Mutant("lost reinsertion", WHEEL, "            self.wheel.add(entry, sinking=True)\n", ""),
    Mutant("earliest not lowered: a lost wake-up", WHEEL, "        self.earliest = expires\n        return True", "        return True"),
    Mutant("idle time makes levels", WHEEL, "        self._move_to(min(now, self.earliest - 1))\n        expires", "        expires"),
    Mutant("passes over a bucket when catching up", WHEEL, "min(now, self.earliest - 1)", "now"),
    Mutant("never looks again after a cancellation", WHEEL, "now != self.looked_at:", "False:"),
    Mutant("limit of a drain ignored", WHEEL, "            if limit <= 0:", "            if limit <= -(10**9):"),
    Mutant("an unfinished drain says it is done", WHEEL, "                return False\n            expires, bucket", "                return True\n            expires, bucket"),
    Mutant("wall clock set back, wheel not", WHEEL, "        self.now, self.earliest = now, NEVER\n", "        self.earliest = NEVER\n"),
    Mutant("milliseconds rounded down", CLOCK, "return -(-ns // NS_PER_MS)", "return ns // NS_PER_MS"),
    Mutant("ticks rounded down", CLOCK, "return -(-ms // tick_ms)", "return ms // tick_ms"),
    Mutant("manual clock jumps over what is due", CLOCK, "self._now_ns + nap <= target:", "self._now_ns + nap < target:"),
    Mutant("cancel wins twice", TASK, "            if self._timer is None:\n                return False\n", "            if self._timer is None:\n                return self._state is CANCELLED\n"),
    Mutant("size not decremented", TIMER, "        self._size -= 1\n", ""),
    Mutant("extend does not move", TIMER, "            TimerTaskList.remove(task)\n            self._extended += 1\n", "            self._extended += 1\n            return False\n"),
    Mutant("a moved task stays in its old timer", TIMER, "                    task._timer._leave(task, CANCELLED)\n", "                    pass\n"),
    Mutant("adding after close is accepted", TIMER, "            self._check_open()\n            for task, delay_ms in zip", "            for task, delay_ms in zip"),
    Mutant("close forgets due tasks", TIMER, "        yield from self._due\n        for queue", "        for queue"),
    Mutant("a driver that naps is not woken", TIMER, "wake = is_first and self._is_napping", "wake = False"),
    Mutant("due tasks do not shorten a nap", TIMER, "            if self._due:\n                return 0\n", ""),
    Mutant("a finished task keeps its callback", TASK, "            self._callback, self._args = None, ()\n        del held", "        del held"),
    Mutant("an exception in a task disappears", TIMER, "            self._failed(task, exception)\n        finally", "            pass\n        finally"),
    Mutant("64-bit edge unguarded", TIMER, "        if delay_ms > longest_ms:", "        if False:"),
    Mutant("closing does not ring", SYSTEM, "        self._alarm.set()\n        if self._driver is not None:\n            self._driver.stop()", "        if self._driver is not None:\n            self._driver.stop()"),
    Mutant("an exit in a task kills the reaper", SYSTEM, "not (self._driver and self._driver.is_current())", "True"),
    Mutant("a reaper dies in silence", DRIVERS, "            timer._die(cause)\n\n\nclass LoopDriver", "            pass\n\n\nclass LoopDriver"),
    Mutant("core: rounding down", CORE, "due = (due + queue.tick_ms - 1) / queue.tick_ms", "due = due / queue.tick_ms"),
    Mutant("core: two timers have one number", CORE, "    first_vacant = <uint32_t><size_t>timers[number]\n", ""),
    Mutant("core: a task keeps the number of the timer it has left", CORE, "        task.entry.index = <uint32_t>self.number\n", ""),
    Mutant("core: a call loses its arguments", CORE, "return (callback, *args) if args else callback", "return callback"),
    Mutant("core: off by one at a bucket's edge", CORE, "    while due > wheel.last:", "    while due > wheel.last + 1:"),
    Mutant("core: sinking tasks go last", CORE, "    if sinking:  ", "    if not sinking:  "),
    Mutant("core: occupancy bit not cleared", CORE, "    if before == after:  ", "    if False:  "),
    Mutant("core: the first word's lower bits forgotten", CORE, "for seen in range(words + 1):", "for seen in range(words):"),
    Mutant("core: size not decremented", CORE, "        self._size -= 1\n", ""),
    Mutant("core: the wheel's reference kept on cancel", CORE, "    list_remove(entry)\n    Py_DECREF(<object>", "    list_remove(entry)\n    Py_INCREF(<object>"),
    Mutant("core: a task cancelled by the one before runs", CORE, "        settle()\n        if entry != self.due.root.next:", "        if entry != self.due.root.next:"),
    Mutant("core: the cancelled are handed out as pending", CORE, "        settle()\n        end = wheel_copy", "        end = wheel_copy"),
    Mutant("core: the last ones cancelled are held", CORE, "if timer._size == 0 or type(self)", "if type(self)"),
    Mutant("core: a cancelled subclass is held", CORE, "if timer._size == 0 or type(self) is not TimerTask:", "if timer._size == 0:"),
    Mutant("core: a nap ends for those cancelled", CORE, "        self._is_napping = True\n        settle()\n", "        self._is_napping = True\n"),
    Mutant("core: a promoted task is not linked", CORE, "            entry.prev.next = entry.next.prev = &task.entry\n", ""),
    Mutant("core: bulk cancel counts what had run", CORE, "            if entry.state == PENDING:\n                (<Timer>self.timer)", "            if entry.state == EXPIRED:\n                prevented += 1\n            if entry.state == PENDING:\n                (<Timer>self.timer)"),
]  # fmt: skip
