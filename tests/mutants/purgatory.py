"""Bugs for the purgatory: the pure operations and watch lists, what both builds share, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

OPERATION = "src/sojourn/purgatory/_operation.py"
WATCHERS = "src/sojourn/purgatory/_watchers.py"
KEYS = "src/sojourn/purgatory/_keys.py"
FAILURES = "src/sojourn/purgatory/_failures.py"
FACE = "src/sojourn/purgatory/purgatory.py"
CORE = "src/sojourn/purgatory/_core.pyx"

SECOND_TRY = (
    "                if operation._try():\n                    return True\n                self._start(operation)\n"
)
TELL = '        try:\n            self.on_complete()\n        finally:\n            if self._outcome == "expired":\n                self.on_expiration()\n'
COMPLETED = '                    completed = self._has_won and self._outcome == "completed"\n'
BREAK = "                    break\n                self._again = False  # somebody left word\n"
CHECK = "                self._failed(operation, failure)\n            if is_done:\n"

MUTANTS = [
    # Check, watch, check again, then start the timer
    Mutant("a purgatory without deadlines has them", WATCHERS, "        if self._is_untimed:\n            return\n", ""),
    Mutant("a purgatory without deadlines has them, compiled", CORE, "        if self._is_untimed:\n            return 0\n", ""),
    Mutant("the second try is dropped", WATCHERS, SECOND_TRY, "                self._start(operation)\n"),
    Mutant("the first try is dropped", WATCHERS, "            if operation._try():\n                return True\n            if self._watch", "            if self._watch"),
    Mutant("the timer is started before the keys are watched", WATCHERS, "            if self._watch(operation, watched):\n", "            self._start(operation)\n            if self._watch(operation, watched):\n"),
    Mutant("the timer is started before the second try", WATCHERS, SECOND_TRY, "                self._start(operation)\n                if operation._try():\n                    return True\n"),
    Mutant("ended while the clock was asked, and put in the timer all the same", WATCHERS, "            if operation._watchers is not self:\n                return\n            wake", "            wake"),
    Mutant("ended by a collection while it was put in the timer, and stays there", WATCHERS, "                TimerTask.cancel(operation)  # a garbage", "                pass  # a garbage"),
    Mutant("an operation that has ended is watched all the same", WATCHERS, "                if operation._watchers is not self:\n                    return False\n", ""),
    Mutant("an operation may be watched twice", WATCHERS, "if operation._watchers is not None or operation._has_waited:", "if operation._has_waited:"),
    Mutant("an operation may be watched after its end", WATCHERS, " or operation._has_waited:", ":"),
    Mutant("an operation that ended before it came is watched", WATCHERS, "            if operation._outcome is not None:\n                return False\n", ""),
    Mutant("what failed on the way in stays on the lists", WATCHERS, "            self._abandon(operation)\n            raise\n", "            raise\n"),
    # Exactly once
    Mutant("no compare-and-set when it settles", OPERATION, "            if self._outcome is not None:\n                return False\n            if self._watchers", "            if self._watchers"),
    Mutant("its outcome is looked at before the lock is taken", OPERATION, "        with lock:\n            if self._outcome is not None:\n                return False\n            if self._watchers", "        if self._outcome is not None:\n            return False\n        with lock:\n            if self._watchers"),
    Mutant("told twice", OPERATION, "            if self._has_told:\n                return\n", ""),
    Mutant("told while another thread is trying it", OPERATION, "        if not is_tried_elsewhere:\n            self._tell()", "        self._tell()"),
    Mutant("ended while it was tried, and never told", OPERATION, "if self._outcome is not None and (failure := failure_of(self._tell)) is not None:", "if False:"),
    Mutant("everybody has won", OPERATION, "self._has_won = self._owner == get_ident()", "self._has_won = True"),
    Mutant("who completed it is asked after it is free", OPERATION, COMPLETED + BREAK, BREAK + COMPLETED[12:]),
    Mutant("who cancelled it says that they completed it", OPERATION, 'completed = self._has_won and self._outcome == "completed"', "completed = self._has_won"),
    Mutant("expired settles as completed", OPERATION, 'self._settle("expired")', 'self._settle("completed")'),
    Mutant("expiration is told before completion", OPERATION, TELL, '        if self._outcome == "expired":\n            self.on_expiration()\n        self.on_complete()\n'),
    Mutant("a completion that fails keeps the expiration from being told", OPERATION, TELL, '        self.on_complete()\n        if self._outcome == "expired":\n            self.on_expiration()\n'),
    Mutant("completed operations are told an expiration", OPERATION, '            if self._outcome == "expired":\n                self', "            if True:\n                self"),
    Mutant("an ended operation stays in the timer", OPERATION, "            super().cancel()  # out of the timer\n", ""),
    # Who is trying it, and who leaves word
    Mutant("nobody leaves word", OPERATION, "            self._again = self._owner is not None\n            if self._again:\n", "            if self._owner is not None:\n"),
    Mutant("the word that was left is ignored", OPERATION, "if self._outcome is not None or not self._again or len(failures) == tries:", "if True:"),
    Mutant("the word that was left stays for ever", OPERATION, "                self._again = False  # somebody left word\n", ""),
    Mutant("the owner is never released", OPERATION, "                    self._owner = None\n", ""),
    Mutant("the owner is not released after an exit", OPERATION, "    except BaseException as exception:\n        return exception", "    except Exception as exception:\n        return exception"),
    Mutant("two threads may try at a time", OPERATION, "            if self._again:\n                return False, None\n", ""),
    Mutant("the owner gives up before it looks for word", OPERATION, "            with lock:\n                if self._outcome is not None or not self._again or", "            self._owner = None\n            with lock:\n                self._owner = get_ident()\n                if self._outcome is not None or not self._again or"),
    Mutant("a sweep tries what was handed back", OPERATION, "            if self._watchers is not watchers:\n", "            if self._outcome is not None:\n"),
    Mutant("the lock is held while an operation is tried", OPERATION, "failures.append(failure_of(self._try_once))", "lock.__enter__(); failures.append(failure_of(self._try_once)); lock.__exit__()"),
    Mutant("a caller tries as long as there is word", OPERATION, " or len(failures) == tries:", ":"),
    Mutant("word that came during the second try is forgotten", WATCHERS, "        if operation._again and not self._is_seen_to(operation):\n            return self._check(operation)\n", ""),
    Mutant("a try that is owed is never made", WATCHERS, "            self.timer.schedule(0, self._try_owed, operation)\n", "            pass\n"),
    Mutant("a try is owed as often as there was word", WATCHERS, "            if operation._is_owed and self.timer._is_open:\n                return True\n", ""),
    Mutant("a try is owed once and never again", WATCHERS, "        operation._is_owed = False\n        return operation", "        return operation"),
    Mutant("a closed timer is trusted to come", WATCHERS, "            operation._is_owed = False\n            return False\n", "            return True\n"),
    # Keys and lists
    Mutant("one key is forgotten when it leaves", WATCHERS, "        for place in places:\n            self._drop(", "        for place in places[:1]:\n            self._drop("),
    Mutant("it leaves no key", WATCHERS, "        for place in places:\n            self._drop(place, operation)\n", ""),
    Mutant("watched is not decremented", WATCHERS, "        self._watched -= len(places)\n", ""),
    Mutant("delayed is not decremented", WATCHERS, "        self._delayed -= 1\n", ""),
    Mutant("empty lists stay behind", WATCHERS, "if place.operations or place not in sharing:", "if True:"),
    Mutant("a list is dropped with all on it", WATCHERS, "if place.operations or place not in sharing:", "if place not in sharing:"),
    Mutant("keys with one hash are dropped together", WATCHERS, "        if len(sharing) == 1:\n            del", "        if True:\n            del"),
    Mutant("keys with one hash are one key", WATCHERS, "if place.key is key or place.key == key:", "if True:"),
    Mutant("keys are the same or different", WATCHERS, "if place.key is key or place.key == key:", "if place.key is key:"),
    Mutant("what was seen before keys were compared is believed", WATCHERS, "                if stands:\n", "                if True:\n"),
    Mutant("whoever enters is not in the books", WATCHERS, "        operation._keys, operation._places = keys, places\n        self._watched += len(places)\n        for hashed", "        for hashed"),
    Mutant("one end is counted as another", WATCHERS, 'self._expired += operation._outcome == "expired"', 'self._expired += operation._outcome == "completed"'),
    Mutant("duplicate keys are watched twice", KEYS, "tuple(dict.fromkeys(keys))", "tuple(keys)"),
    Mutant("one text is taken for a list of keys", KEYS, "if isinstance(keys, str | bytes):", "if False:"),
    Mutant("no keys are accepted", KEYS, "    if not found:", "    if False:"),
    Mutant("watching takes no lock", WATCHERS, "            look = self._look(own)\n            with lock:\n", "            look = self._look(own)\n            if True:\n"),
    Mutant("starting takes no lock", WATCHERS, "        with lock:\n            if operation._watchers is not self:\n                return\n", "        if True:\n            if operation._watchers is not self:\n                return\n"),
    # Nothing is left on the lists
    Mutant("an interrupt while it leaves leaves it on lists", WATCHERS, "            self._drop_all(places, operation)\n            raise\n", "            raise\n"),
    Mutant("ended by a collection while it came in, and stays on the lists", WATCHERS, "        if operation._watchers is not self:\n            self._drop_all", "        if False:\n            self._drop_all"),
    # Sweeps and failures
    Mutant("a sweep stops at the first exception", WATCHERS, CHECK, "                self._failed(operation, failure)\n                raise failure\n            if is_done:\n"),
    Mutant("an exception in a sweep disappears", WATCHERS, CHECK, "                pass\n            if is_done:\n"),
    Mutant("an exit in a sweep is taken for a failure", WATCHERS, "                if not isinstance(failure, Exception):\n                    raise failure\n", ""),
    Mutant("a sweep tries the last first", WATCHERS, "sum(self._check(operation) for operation in self._watching(key))", "sum(self._check(operation) for operation in self._watching(key)[::-1])"),
    Mutant("a sweep counts whom it tried", WATCHERS, "sum(self._check(operation) for operation in self._watching(key))", "sum(self._check(operation) or 1 for operation in self._watching(key))"),
    Mutant("an exception at the deadline disappears", OPERATION, "                raise\n            watchers._failed(self, exception)", "                raise"),
    Mutant("cancel_for_key only takes them out of the timer", WATCHERS, "            return operation.cancel()\n", "            return TimerTask.cancel(operation)\n"),
    Mutant("cancel_for_key returns those that others had ended", WATCHERS, "in self._watching(key) if self._cancel(operation)]", "in self._watching(key) if self._cancel(operation) or True]"),
    Mutant("an exit is swallowed when another try follows", FAILURES, "next((failure for failure in failures if not isinstance(failure, Exception | None)), failures[-1])", "failures[-1]"),
    Mutant("what an earlier try raised disappears", FAILURES, "            report(failure)\n", "            pass\n"),
    Mutant("a handler that raises ends the sweep", FACE, "            if not isinstance(broken, Exception):\n                raise\n", "            raise\n"),
    Mutant("an exit from the handler disappears", FACE, "            if not isinstance(broken, Exception):\n                raise\n", ""),
    # Ends
    Mutant("close forgets what is pending", WATCHERS, "                    left.append(operation)\n", ""),
    Mutant("what close hands back stays in the timer", WATCHERS, "                    self._unwatch(operation)\n                    TimerTask.cancel(operation)\n                    left", "                    self._unwatch(operation)\n                    left"),
    Mutant("watching after close is accepted", WATCHERS, "        with lock:\n            if not self._is_open:\n                self._refuse()\n", "        with lock:\n"),
    Mutant("what was on its way in when the purgatory closed is watched", WATCHERS, "                if not self._is_open:\n                    self._refuse()\n", ""),
    Mutant("close cancels nobody", FACE, "        if cancel_pending:\n", "        if False:\n"),
    Mutant("close always cancels", FACE, "        if cancel_pending:\n", "        if True:\n"),
    Mutant("what close cancels is not counted", FACE, "for operation in self._pending() if self._cancel(operation)]", "for operation in self._take_all() if self._cancel(operation)]"),
    Mutant("its own timer is not closed", FACE, "            self._own_timer.close()\n", "            pass\n"),
    Mutant("a shared timer is closed", FACE, "        if self._own_timer is not None:\n            self._own_timer.close()", "        self.timer.close()"),
    # The compiled core
    Mutant("core: the second try is dropped", CORE, "                if comer.try_it():\n                    return True\n                self.start", "                self.start"),
    Mutant("core: told while another thread is trying it", CORE, "        if not is_tried_elsewhere:\n            self.tell()", "        self.tell()"),
    Mutant("core: nobody leaves word", CORE, "        self.again = self.owner != 0\n        if self.again:\n", "        if self.owner != 0:\n"),
    Mutant("core: a caller tries as long as there is word", CORE, " or tries == 0:", ":"),
    Mutant("core: a try that is owed is never made", CORE, "            self.timer.schedule(0, self._try_owed, operation)\n", "            pass\n"),
    Mutant("core: an operation that ended before it came is watched", CORE, "        if operation.ended:\n            return False\n", ""),
    Mutant("core: ended while it was tried, and never told", CORE, "        if self.ended and not self.has_told:\n            try:\n", "        if False:\n            try:\n"),
    Mutant("core: a sweep tries what was handed back", CORE, "        if self.watchers != watchers:\n", "        if self.ended:\n"),
    Mutant("core: a key may be unhashable", CORE, "            hash = PyObject_Hash(keys)\n", "            hash = 7\n"),
    Mutant("core: ended while keys were compared, and watched all the same", CORE, "                return False                # and its entries are no more\n", "                pass\n"),
    Mutant("core: what was seen before keys were compared is believed", CORE, "        while changes != self.changes:      #", "        for _ in range(1):      #"),
    Mutant("core: a comparison is believed though others left meanwhile", CORE, "            if changes != self.changes:\n", "            if False:\n"),
    Mutant("core: what was on its way in when the purgatory closed is watched", CORE, "        if not self._is_open:\n            self._refuse()\n        operation.is_watched", "        operation.is_watched"),
    Mutant("core: ended while the clock was asked, and put in the timer all the same", CORE, "        if operation.watchers == <PyObject*>self:\n            self.timer.put", "        if True:\n            self.timer.put"),
    Mutant("core: what failed on the way in stays in the timer", CORE, "                self.unwatch(comer)\n                comer.leave_timer()\n            raise", "                self.unwatch(comer)\n            raise"),
    Mutant("core: one key is forgotten when it leaves", CORE, "                self.unlink(&entries_of(operation)[i])\n", "                self.unlink(&entries_of(operation)[i])\n                break\n"),
    Mutant("core: whoever comes is first in the ring", CORE, "            entry.prev = first.prev\n            entry.next = first\n            first.prev.next = entry\n            first.prev = entry\n", "            entry.prev = first\n            entry.next = first.next\n            first.next.prev = entry\n            first.next = entry\n"),
    Mutant("core: the first leaves with the whole ring", CORE, "        if place[0] == entry and entry.next == entry:\n", "        if place[0] == entry:\n"),
    Mutant("core: the next in the ring forgets the bucket", CORE, "            entry.next.below = entry.below\n", ""),
    Mutant("core: growing forgets a key", CORE, "            old[i] = entry.below\n", "            old[i] = NULL\n"),
    Mutant("core: a list holds no reference", CORE, "        Py_INCREF(<object>entry.operation)\n", ""),
    Mutant("core: a list keeps its reference", CORE, "        Py_DECREF(<object>entry.operation)  # the caller has a reference of its own\n", ""),
    Mutant("core: the garbage collector does not see the keys", CORE, "(<PyTypeObject*>DelayedOperation).tp_traverse = visit_keys\n", ""),
    Mutant("core: a purgatory that dies does not let go of its operations", CORE, "                self.unwatch(operation)\n        shards_free", "                pass\n        shards_free"),
    Mutant("core: the memory of several keys is lost", CORE, "            PyMem_Free(operation.own.next)\n", ""),
]  # fmt: skip
