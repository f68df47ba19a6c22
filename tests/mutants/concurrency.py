"""More bugs for the timer: locks left out, wake-ups lost, answers believed after the world has moved on."""

from __future__ import annotations

from .hub import BLOCKING as HUB_BLOCKING
from .hub import CORE as HUB_CORE
from .hub import FACE as HUB_FACE
from .hub import SIGNALS
from .hub import WAIT as HUB
from .mutant import Mutant
from .timer import CORE, DRIVERS, SYSTEM, TASK, TIMER, WHEEL

MUTANTS = [
    Mutant("an overdue task waits a whole turn", WHEEL, "max(entry._due // self.tick, self.position)", "entry._due // self.tick"),
    Mutant("an overflow wheel begins at zero", WHEEL, "self.size, self.position * self.tick)", "self.size, 0)"),
    Mutant("a bucket due now is looked over", WHEEL, "first[0] <= target:", "first[0] < target:"),
    Mutant("a bucket sinks first task first", WHEEL, "entry = bucket._prev\n", "entry = bucket._next\n"),
    Mutant("sinking ignores its limit", WHEEL, "while bucket and moved < limit:", "while bucket:"),
    Mutant("setting the clock back forgets the order", WHEEL, "reversed(list(self.wheels()))", "list(self.wheels())"),
    Mutant("cancel takes no lock", TASK, "        with lock:\n            if self._timer is None:\n", "        if True:\n            if self._timer is None:\n"),
    Mutant("a driver takes tasks without the lock", TIMER, "        with lock:\n            task = self._due._next\n", "        if True:\n            task = self._due._next\n"),
    Mutant("extend believes in the timer it saw first", TIMER, "            if task._timer is not self:\n                return False", "            if task._timer is None:\n                return False"),
    Mutant("a driver that naps does not say so", TIMER, "self._is_napping = True", "self._is_napping = False"),
    Mutant("closing does not shut the door", TIMER, "            self._is_open = False\n", ""),
    Mutant("a driver ignores its limit", TIMER, "                if ran >= limit:\n                    return ran\n", ""),
    Mutant("a drain ends with its first chunk", TIMER, "arrived = self._advance(now_ns, wall_ns)", "arrived = self._advance(now_ns, wall_ns) or True"),
    Mutant("what tasks arm for now runs in the same call", TIMER, "        while not arrived:\n", "        while not arrived or self.nap_ns() == 0:\n"),
    Mutant("a wall clock set back is not noticed", TIMER, "if tick < self._wall_queue.now:", "if False:"),
    Mutant("a task armed again loses its callback", TASK, "if self._state is PENDING or self._arming != arming:", "if self._state is PENDING:"),
    Mutant("waking does not ring", SYSTEM, "        self._alarm.set()\n        if self._driver is not None:\n            self._driver.wake()", "        if self._driver is not None:\n            self._driver.wake()"),
    Mutant("waiting by hand keeps the reaper's alarm", SYSTEM, "            if has_slept:\n                self._alarm.set()", "            if False:\n                self._alarm.set()"),
    Mutant("a sleeper does not look at the wall clock", SYSTEM, "return min(nap_ns, WALL_CHECK_NS) if", "return nap_ns if"),
    Mutant("a handler that fails stops the reaper", SYSTEM, "except Exception as broken:", "except ArithmeticError as broken:"),
    Mutant("a task that closes its timer waits for itself", DRIVERS, "        if not self.is_current():\n            self._thread.join()", "        self._thread.join()"),
    Mutant("closing does not wait for the reaper", DRIVERS, "            self._thread.join()", "            pass"),
    Mutant("the lock is not held across a fork", "src/sojourn/timer/_lock.py", "os.register_at_fork(before=lock.__enter__, after_in_parent=let_go, after_in_child=let_go)", "pass"),
    Mutant("a child may start what the parent started", SYSTEM, "            self._parent_pid = parent_pid\n            self._is_open = False", "            pass"),
    Mutant("what is left behind can be cancelled", TASK, "                self._timer._check_process()\n", "                pass\n"),
    Mutant("core: what is left behind can be cancelled", CORE, "            timer._check_process()      #", "            pass      #"),
    Mutant("hub: what is left behind can be signalled", SIGNALS, "            self._check_process()  # here,", "            pass  # here,"),
    Mutant("hub: what is left behind takes callbacks", HUB, "                self._waits._check_process()\n", "                pass\n"),
    Mutant("hub: what is left behind is asked for its result", HUB_BLOCKING, "    wait._waits._check_process()\n", ""),
    Mutant("hub: a child closes what is its parent's", HUB_FACE, "        if self._waits._parent_pid is not None:\n", "        if False:\n"),
    Mutant("hub, core: what is left behind can be signalled", HUB_CORE, "            self._check_process()   # here,", "            pass   # here,"),
    Mutant("hub, core: what is left behind takes callbacks", HUB_CORE, "            self._waits._check_process()\n", "            pass\n"),
    Mutant("hub, core: in a child the parent's loop runs on", HUB_CORE, "            os.register_at_fork(after_in_child=forget_run)", "            pass"),
    Mutant("core: milliseconds rounded down", CORE, "(ns % NS_PER_MS > 0)", "0"),
    Mutant("core: earliest not lowered", CORE, "    queue.earliest = expires\n    return 1", "    return 1"),
    Mutant("core: the bucket due now is found a turn later", CORE, "return at if at >= 0 else at + size", "return at if at > 0 else at + size"),
    Mutant("core: a driver does not look again after asking the clock", CORE, "        if entry != self.due.root.next:\n            return 0 ", "        if False:\n            return 0 "),
    Mutant("core: extend does not look again after asking the clock", CORE, "        if not self.has(task):\n            return False", "        if task.entry.state != PENDING:\n            return False"),
    Mutant("core: a task that moves stays in its old timer's books", CORE, "    timer_of(task).leave(&task.entry, CANCELLED)", "    list_remove(&task.entry)"),
    Mutant("core: a wall clock set back is not noticed", CORE, "if tick < self.wall_queue.now:", "if False:"),
]  # fmt: skip
