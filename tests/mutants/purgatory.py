"""Bugs for the purgatory: the pure operations and watch lists, the face that both builds share, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

OPERATION = "src/sojourn/purgatory/_operation.py"
KEYS = "src/sojourn/purgatory/_keys.py"
FACE = "src/sojourn/purgatory/purgatory.py"
CORE = "src/sojourn/purgatory/_core.pyx"

MUTANTS = [
    # Check, watch, check again, then start the timer
    Mutant(
        "the second try is dropped",
        OPERATION,
        "not self._watch(operation, watched) or operation._try():",
        "not self._watch(operation, watched):",
    ),
    Mutant(
        "the first try is dropped",
        OPERATION,
        "if operation._try() or not self._watch(operation, watched)",
        "if not self._watch(operation, watched)",
    ),
    Mutant(
        "the timer is started before the keys are watched",
        OPERATION,
        "        self._admit(operation)\n        try:\n",
        "        self._admit(operation)\n        try:\n            self.timer.add(operation)\n",
    ),
    Mutant(
        "ended while it was put in the timer, and stays there",
        OPERATION,
        "ended while it was being put in the timer\n            TimerTask.cancel(operation)",
        "ended while it was being put in the timer\n            pass",
    ),
    Mutant(
        "an operation that has ended is watched all the same",
        OPERATION,
        '        """Put it on all lists in one step; False if it has ended."""\n        with lock:\n            if operation._outcome is not None:',
        '        """Put it on all lists in one step; False if it has ended."""\n        with lock:\n            if False:',
    ),
    Mutant(
        "an operation may be watched twice",
        OPERATION,
        "if operation._watchers is not None or operation._outcome",
        "if operation._outcome",
    ),
    Mutant(
        "what failed on the way in stays on the lists",
        OPERATION,
        "            self._abandon(operation)\n            raise\n",
        "            raise\n",
    ),
    # Exactly once
    Mutant(
        "no compare-and-set when it settles",
        OPERATION,
        "            if self._outcome is not None:\n                return False\n            self._outcome = outcome\n",
        "            self._outcome = outcome\n",
    ),
    Mutant(
        "its outcome is looked at before the lock is taken",
        OPERATION,
        "        with lock:\n            if self._outcome is not None:\n                return False\n            self._outcome = outcome\n",
        "        if self._outcome is not None:\n            return False\n        with lock:\n            self._outcome = outcome\n",
    ),
    Mutant("told twice", OPERATION, "            if self._has_told:\n                return\n", ""),
    Mutant(
        "told while another thread is trying it",
        OPERATION,
        "        if not is_tried_elsewhere:\n            self._tell()",
        "        self._tell()",
    ),
    Mutant(
        "ended while it was tried, and never told",
        OPERATION,
        "            self._tell()  # nothing new",
        "            pass  # nothing new",
    ),
    Mutant("everybody has won", OPERATION, "self._has_won = self._owner == get_ident()", "self._has_won = True"),
    Mutant("expired settles as completed", OPERATION, 'self._settle("expired")', 'self._settle("completed")'),
    Mutant(
        "expiration is told before completion",
        OPERATION,
        '        try:\n            self.on_complete()\n        finally:\n            if self._outcome == "expired":\n                self.on_expiration()\n',
        '        if self._outcome == "expired":\n            self.on_expiration()\n        self.on_complete()\n',
    ),
    Mutant(
        "a completion that fails keeps the expiration from being told",
        OPERATION,
        '        try:\n            self.on_complete()\n        finally:\n            if self._outcome == "expired":\n                self.on_expiration()\n',
        '        self.on_complete()\n        if self._outcome == "expired":\n            self.on_expiration()\n',
    ),
    Mutant(
        "completed operations are told an expiration",
        OPERATION,
        '            if self._outcome == "expired":\n                self',
        "            if True:\n                self",
    ),
    Mutant(
        "an ended operation stays in the timer", OPERATION, "            super().cancel()  # out of the timer\n", ""
    ),
    # Who is trying it, and who leaves word
    Mutant("nobody leaves word", OPERATION, "                self._again = True\n", ""),
    Mutant("the word that was left is ignored", OPERATION, "if self._outcome is None and self._again:", "if False:"),
    Mutant(
        "the word that was left stays for ever",
        OPERATION,
        "                self._again = False\n                return True",
        "                return True",
    ),
    Mutant(
        "the owner is not released after an exception",
        OPERATION,
        "                failure = exception\n            if not self._stays():",
        "                raise\n            if not self._stays():",
    ),
    Mutant("the owner is never released", OPERATION, "self._again, self._owner = False, None", "self._again = False"),
    Mutant(
        "two threads may try at a time",
        OPERATION,
        "            if self._owner is not None:\n                self._again = True\n                return False\n",
        "",
    ),
    Mutant(
        "the owner gives up before it looks for word",
        OPERATION,
        "        with lock:\n            if self._outcome is None and self._again:\n",
        "        self._owner, owner = None, self._owner\n        with lock:\n            self._owner = owner if self._again else None\n            if self._outcome is None and self._again:\n",
    ),
    # Keys and lists
    Mutant(
        "one key is forgotten when it leaves",
        OPERATION,
        "for key in operation._keys if operation._is_watched else ():",
        "for key in operation._keys[:1] if operation._is_watched else ():",
    ),
    Mutant(
        "it leaves no key",
        OPERATION,
        "        self._unwatch(operation)\n        self._completed +=",
        "        self._completed +=",
    ),
    Mutant("watched is not decremented", OPERATION, "            self._watched -= 1\n", ""),
    Mutant("delayed is not decremented", OPERATION, "        self._delayed -= 1\n", ""),
    Mutant(
        "empty lists stay behind", OPERATION, "            elif not watching:\n                del shard[key]\n", ""
    ),
    Mutant(
        "a list of one is dropped with all on it",
        OPERATION,
        "            elif not watching:\n",
        "            elif True:\n",
    ),
    Mutant(
        "one end is counted as another",
        OPERATION,
        'self._expired += operation._outcome == "expired"',
        'self._expired += operation._outcome == "completed"',
    ),
    Mutant("duplicate keys are watched twice", KEYS, "tuple(dict.fromkeys(keys))", "tuple(keys)"),
    Mutant("one text is taken for a list of keys", KEYS, "if isinstance(keys, str):", "if False:"),
    Mutant("no keys are accepted", KEYS, "    if not found:", "    if False:"),
    Mutant(
        "a purge drops what is pending",
        OPERATION,
        "in watching.items() if operation._watchers is not self]",
        "in watching.items() if True]",
    ),
    Mutant(
        "a purge drops nothing",
        OPERATION,
        "                        del watching[place]\n",
        "                        pass\n",
    ),
    Mutant(
        "a purge takes no lock",
        OPERATION,
        "        with lock:\n            dropped = 0\n",
        "        if True:\n            dropped = 0\n",
    ),
    Mutant(
        "watching takes no lock",
        OPERATION,
        '        """Put it on all lists in one step; False if it has ended."""\n        with lock:\n',
        '        """Put it on all lists in one step; False if it has ended."""\n        if True:\n',
    ),
    # Sweeps
    Mutant(
        "a sweep stops at the first exception",
        OPERATION,
        "            return operation._try()\n        except Exception as exception:\n            self._failed(operation, exception)\n",
        "            return operation._try()\n        except Exception as exception:\n            self._failed(operation, exception)\n            raise\n",
    ),
    Mutant(
        "an exception in a sweep disappears",
        OPERATION,
        "            return operation._try()\n        except Exception as exception:\n            self._failed(operation, exception)\n",
        "            return operation._try()\n        except Exception:\n",
    ),
    Mutant(
        "an exception at the deadline disappears",
        OPERATION,
        "            watchers._failed(self, exception)\n\n    def __repr__",
        "            pass\n\n    def __repr__",
    ),
    Mutant(
        "a sweep tries the last first",
        OPERATION,
        "sum(self._check(operation) for operation in self._watching(key))",
        "sum(self._check(operation) for operation in reversed(self._watching(key)))",
    ),
    Mutant(
        "a sweep counts whom it tried",
        OPERATION,
        "return sum(self._check(operation) for",
        "return sum(self._check(operation) or 1 for",
    ),
    Mutant(
        "cancel_for_key only takes them out of the timer",
        OPERATION,
        "            return operation.cancel()\n",
        "            return TimerTask.cancel(operation)\n",
    ),
    Mutant(
        "cancel_for_key returns those that others had ended",
        OPERATION,
        "in self._watching(key) if self._cancel(operation)]",
        "in self._watching(key) if self._cancel(operation) or True]",
    ),
    Mutant(
        "the lock is held while an operation is tried",
        OPERATION,
        "                if self.try_complete():\n                    self",
        "                with lock:\n                    held = self.try_complete()\n                if held:\n                    self",
    ),
    # Ends, and what the face adds
    Mutant(
        "close forgets what is pending",
        OPERATION,
        "            return list(pending.values())\n",
        "            return []\n",
    ),
    Mutant(
        "what close hands back stays in the timer",
        OPERATION,
        "                self._unwatch(operation)\n                TimerTask.cancel(operation)\n            return",
        "                self._unwatch(operation)\n            return",
    ),
    Mutant(
        "watching after close is accepted",
        OPERATION,
        "            if not self._is_open:\n                self._refuse()\n",
        "",
    ),
    Mutant("close cancels nobody", FACE, "        if cancel_pending:\n", "        if False:\n"),
    Mutant("close always cancels", FACE, "        if cancel_pending:\n", "        if True:\n"),
    Mutant("its own timer is not closed", FACE, "            self._own_timer.close()\n", "            pass\n"),
    Mutant(
        "a shared timer is closed",
        FACE,
        "        if self._own_timer is not None:\n            self._own_timer.close()",
        "        self.timer.close()",
    ),
    Mutant(
        "the purge comes one stray too soon",
        FACE,
        "if self._strays > self.purge_interval:",
        "if self._strays >= self.purge_interval:",
    ),
    Mutant("the purge never comes", FACE, "if self._strays > self.purge_interval:", "if False:"),
    Mutant("purged is not counted", FACE, "        self._purged += dropped\n", ""),
    Mutant(
        "a handler that raises ends the sweep",
        FACE,
        "        except Exception as broken:\n            log_error(operation, exception)\n            log_error(operation, broken)",
        "        finally:\n            pass",
    ),
    # The compiled core
    Mutant(
        "core: the second try is dropped",
        CORE,
        "not self.watch(operation, watched, is_one) or operation.try_it():",
        "not self.watch(operation, watched, is_one):",
    ),
    Mutant(
        "core: told while another thread is trying it",
        CORE,
        "        if not is_tried_elsewhere:\n            self.tell()",
        "        self.tell()",
    ),
    Mutant(
        "core: nobody leaves word",
        CORE,
        "            self.again = True\n            return False\n",
        "            return False\n",
    ),
    Mutant(
        "core: ended while it was tried, and never told",
        CORE,
        "            self.tell()         # somebody else ended it meanwhile",
        "            pass",
    ),
    Mutant(
        "core: an operation that has ended is watched all the same",
        CORE,
        "        if operation.ended:\n            return False\n        operation.is_watched = True",
        "        operation.is_watched = True",
    ),
    Mutant(
        "core: ended while it was put in the timer, and stays there",
        CORE,
        "        if operation.ended:     # while it was being put in the timer\n            operation.leave_timer()\n",
        "",
    ),
    Mutant(
        "core: one key is forgotten when it leaves",
        CORE,
        "                strays += not remove(self.table(key), key, operation)\n",
        "                strays += not remove(self.table(key), key, operation)\n                break\n",
    ),
    Mutant(
        "core: empty lists stay behind",
        CORE,
        "        if not <dict>watching:\n            PyDict_DelItem(shard, key)\n",
        "",
    ),
    Mutant(
        "core: whoever stands alone is dropped for whoever comes",
        CORE,
        "        several[id(watching)] = watching\n",
        "",
    ),
    Mutant(
        "core: a key hashed in Python leaves without the lock",
        CORE,
        "            with self.lock:\n                return self.remove_all(operation)\n",
        "            return self.remove_all(operation)\n",
    ),
    Mutant(
        "core: a purge takes no lock",
        CORE,
        "        with self.lock:\n            kept = {}\n",
        "        if True:\n            kept = {}\n",
    ),
]
