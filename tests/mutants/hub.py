"""Bugs for the hub: the pure waits and signals, what both builds share, the recipes, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

WAIT = "src/sojourn/hub/_wait.py"
SIGNALS = "src/sojourn/hub/_signals.py"
PLAN = "src/sojourn/hub/_plan.py"
LAW = "src/sojourn/hub/_law.py"
TABLE = "src/sojourn/hub/_table.py"
WAITS = "src/sojourn/hub/_waits.py"
BLOCKING = "src/sojourn/hub/_blocking.py"
FUTURE = "src/sojourn/hub/_future.py"
COROUTINES = "src/sojourn/hub/_coroutines.py"
IDS = "src/sojourn/hub/_ids.py"
MEMORY = "src/sojourn/hub/_memory.py"
ENDING = "src/sojourn/hub/_ending.py"
FACE = "src/sojourn/hub/hub.py"
RECIPES = "src/sojourn/recipes.py"
CORE = "src/sojourn/hub/_core.pyx"

MUTANTS = [
    # Time and ties
    Mutant(
        "a signal at the deadline is too late",
        LAW,
        "return event.at <= last_instant(wait)",
        "return event.at < last_instant(wait)",
    ),
    Mutant(
        "late signals count until the timer comes",
        LAW,
        "return event.at <= last_instant(wait) and count(",
        "return count(",
    ),
    Mutant(
        "a late part counts until the timer comes",
        LAW,
        'or verdict(met_at, wait._cancelled_at, wait.deadline)[0] != "completed":',
        ":",
    ),
    Mutant("the timer comes in the deadline's own instant", SIGNALS, "(until + 1 - now_ms,)", "(until - now_ms,)"),
    Mutant("a wait is over in its last instant", WAIT, "now_ms > last_instant(self):", "now_ms >= last_instant(self):"),
    Mutant(
        "what is overdue is cancelled",
        WAIT,
        "            if self._is_over(now_ms):\n                return False\n",
        "",
    ),
    Mutant(
        "what is overdue is extended",
        WAIT,
        "is_extended = not self._is_over(now_ms) and",
        "is_extended = self._outcome is None and",
    ),
    Mutant(
        "extending undoes a cancellation",
        WAIT,
        "and self._cancelled_at is None and self._waits._has_timer()",
        "and self._waits._has_timer()",
    ),
    Mutant(
        "a cancellation does not wait for its instant to end",
        LAW,
        "        wait._cancel_after(event.at)\n",
        "        wait._cancel_untold(event.at)\n        wait._tell()\n",
    ),
    Mutant(
        "a cancellation goes before what completes with it",
        LAW,
        "if event.kind in rule.places_by_kind and complete_if_met(wait, event):",
        "if event.kind in rule.places_by_kind and complete_if_met(wait, event) and event.kind != rule.cancels:",
    ),
    Mutant(
        "a beat moves nothing", LAW, "if event.kind == rule.keeps_alive", "if False and event.kind == rule.keeps_alive"
    ),
    Mutant(
        "a beat moves the deadline back",
        LAW,
        "wait._extend_to(max(wait.deadline, event.at + wait._plan.within_ms), event.at)",
        "wait._extend_to(event.at + wait._plan.within_ms, event.at)",
    ),
    # Signals
    Mutant(
        "a signal that was on its way is stamped before the opening", LAW, "if event.at < wait.opened_at:", "if False:"
    ),
    Mutant(
        "only the first wait of a key hears",
        SIGNALS,
        "            for wait in waits:\n                if wait._hears(event):",
        "            for wait in waits[:1]:\n                if wait._hears(event):",
    ),
    Mutant(
        "a value that makes no sense is swallowed",
        SIGNALS,
        "                    raise RuleError(reason)",
        "                    return True",
    ),
    Mutant(
        "a source that makes no sense is swallowed",
        PLAN,
        "source_error(event.source) if event.kind in self._kinds_by_source else None",
        "None",
    ),
    Mutant(
        "two sources of one kind make a single wait",
        PLAN,
        "rule.until == Seen(rule.until.kind) and not others",
        "not others",
    ),
    Mutant("an event's own stamp counts", FACE, "signal._replace(at=self.now_ms())", "signal"),
    # Who ends a wait
    Mutant(
        "a wait ends twice",
        WAIT,
        "        if self._outcome is not None:\n            return False\n        self.at",
        "        self.at",
    ),
    Mutant(
        "the outcome is there before its time",
        WAIT,
        "        self.at, self._by = at, by  # before the outcome: who sees that may read these\n        self._outcome = outcome\n",
        "        self._outcome = outcome\n        self._hub.now_ms()\n        self.at, self._by = at, by\n",
    ),
    Mutant(
        "the timer decides, early or not",
        WAIT,
        "            if not self._is_over(now_ms):\n                self._waits._arm(self, last_instant(self), now_ms)\n",
        '            self._end("expired", self.deadline, "deadline")\n',
    ),
    Mutant("a cancellation moves no timer", WAIT, "        self._waits._arm(self, at, at)\n", ""),
    Mutant(
        "one wait more than the limit", SIGNALS, "if self._delayed >= self._limit:", "if self._delayed > self._limit:"
    ),
    # Memory
    Mutant(
        "a signal is forgotten a millisecond too soon",
        MEMORY,
        ".at < now_ms - self.keep_ms",
        ".at <= now_ms - self.keep_ms",
    ),
    Mutant(
        "one signal too many is kept",
        MEMORY,
        "if len(self._entries) > self._most",
        "if len(self._entries) > self._most + 1",
    ),
    Mutant(
        "a key without signals stays in memory",
        MEMORY,
        "        if not entry.value:\n            self._by_key.drop(entry)\n",
        "",
    ),
    Mutant(
        "an early value that makes no sense disappears",
        MEMORY,
        "            self._passed_over.append((wait, event, reason))\n",
        "            pass\n",
    ),
    # Ends
    Mutant(
        "a callback that comes late is lost",
        ENDING,
        "    if not wait._hang(callback):\n        call_all(wait, iter((callback,)))",
        "    wait._hang(callback)",
    ),
    Mutant(
        "a callback that raises silences the next",
        ENDING,
        "            wait._waits._failed(wait, exception)",
        "            raise",
    ),
    Mutant(
        "an exit silences the other callbacks",
        ENDING,
        "            call_all(wait, callbacks)\n",
        "            pass\n",
    ),
    Mutant("an exit silences the other waits", ENDING, "            tell_all(waits)\n", "            pass\n"),
    Mutant(
        "a third callback replaces the others",
        WAIT,
        "            held[object() if id(callback) in held",
        "            held.clear()\n            held[object() if id(callback) in held",
    ),
    Mutant(
        "callbacks can still be hung when they have been called",
        WAIT,
        "            if self._callbacks is DONE:\n                return False\n",
        "            if self._callbacks is DONE:\n                self._callbacks = None\n",
    ),
    Mutant("who asks in vain stays", BLOCKING, "        wait._unhang(wake)\n", "        pass\n"),
    Mutant("who awaits in vain stays", ENDING, "        wait._unhang(future)\n", ""),
    Mutant("a future is resolved in the wrong thread", ENDING, "if asyncio._get_running_loop() is loop:", "if True:"),
    Mutant("a future that was cancelled is resolved all the same", ENDING, "    if not future.done():", "    if True:"),
    Mutant("a result comes too early", BLOCKING, "and not ended.wait(timeout):", "and timeout is not None:"),
    # The face
    Mutant("an id is forgotten", IDS, "wait = None if look.entry is None else look.entry.value", "wait = None"),
    Mutant(
        "a wait on other keys under an id is the one that has it",
        IDS,
        "if known_keys != keys or not",
        "if not",
    ),
    Mutant(
        "a wait of another rule under an id is the one that has it",
        IDS,
        "if known_keys != keys or not (known._plan is plan or known._plan.rule == plan.rule):",
        "if known_keys != keys:",
    ),
    Mutant(
        "an id is remembered for ever",
        IDS,
        "            self.drop(self._ended.popleft())\n",
        "            self._ended.popleft()\n",
    ),
    Mutant(
        "the new wait of an id is forgotten with the old one",
        TABLE,
        "        left = without(entry, entries)\n",
        "        left = ()\n",
    ),
    Mutant(
        "an id is free only when all have been told", IDS, "self._keep_ms is None or", "self._keep_ms is not None and"
    ),
    Mutant(
        "an id is looked up before the lock",
        SIGNALS,
        " or (of_id is not None and not self._ids.stands(of_id)):",
        ":",
    ),
    Mutant(
        "others come in a collection, and are passed over",
        SIGNALS,
        "            if not self._stands(of_keys):\n",
        "            if False:\n",
    ),
    Mutant(
        "what a collection ended stays in the timer",
        SIGNALS,
        "            if wait._outcome is not None:\n                TimerTask.cancel(wait)",
        "            if False:\n                TimerTask.cancel(wait)",
    ),
    Mutant("a kind of decimal is foreign", PLAN, "    if isinstance(thing, Decimal):\n", "    if False:\n"),
    Mutant("a decimal's own methods are called", PLAN, "        return Decimal(thing)\n", "        return thing\n"),
    Mutant("due before a time includes that time", FACE, "wait.deadline < due_before", "wait.deadline <= due_before"),
    Mutant("closing leaves everybody waiting", FACE, "cancel_pending: bool = True)", "cancel_pending: bool = False)"),
    Mutant(
        "closing looks at the clock too soon",
        FACE,
        "        with self._waits._lock:\n            self._waits._is_open = False\n            left: builtins.list[Any] = self._waits._pending()\n        now_ms = self.now_ms()",
        "        now_ms = self.now_ms()\n        with self._waits._lock:\n            self._waits._is_open = False\n            left: builtins.list[Any] = self._waits._pending()\n       ",
    ),
    Mutant(
        "plans are known by their condition alone",
        FACE,
        "asked = (until, within, type(within), rule)",
        "asked = (until, rule)",
    ),
    Mutant("plans are kept for ever", FACE, "if len(plans) > PLANS_KEPT:", "if False:"),
    # Locks and the code of others
    Mutant(
        "keys are compared with the lock held",
        SIGNALS,
        "        place = place_of(event.key, places)\n",
        "        with lock:\n            place = place_of(event.key, places)\n",
    ),
    Mutant(
        "ids are compared with the lock held",
        WAITS,
        "            look = self._ids.look(wait_id)\n            with self._lock:\n",
        "            with self._lock:\n                look = self._ids.look(wait_id)\n",
    ),
    Mutant(
        "what was seen of keys before the lock is believed",
        SIGNALS,
        "if self._places_at(hashed) is not places or (early",
        "if (early",
    ),
    Mutant("what was remembered before the lock is believed", TABLE, "is look.entries", "is not None"),
    Mutant("a text keeps its own methods", PLAN, "        return str.__str__(thing)\n", "        return thing\n"),
    Mutant("what cannot be read is described with the lock held", PLAN, "else Foreign(repr(thing))", "else thing"),
    Mutant("an id keeps its wait alive", IDS, "        entry.value = None\n", ""),
    # The law
    Mutant("an earlier cancellation that comes late is ignored", LAW, " or event.at < wait._cancelled_at):", "):"),
    Mutant(
        "compiled: what completes with a cancellation is cancelled",
        CORE,
        "or met_at <= cancelled_at):",
        "or met_at < cancelled_at):",
    ),
    Mutant(
        "compiled: cancelled after the deadline",
        CORE,
        "if cancelled_at != NOT_YET and cancelled_at <= deadline:",
        "if cancelled_at != NOT_YET:",
    ),
    # Waiting for a result
    Mutant(
        "the reaper thread may wait for itself",
        BLOCKING,
        "    elif driver is not None and driver.is_current():",
        "    elif False:",
    ),
    Mutant("a loop may wait for itself", BLOCKING, "        if driver.is_on_its_loop():", "        if False:"),
    Mutant("nobody moves a manual clock", BLOCKING, "    return is_manual and", "    return False and is_manual and"),
    Mutant(
        "every thread moves a manual clock",
        BLOCKING,
        "    return is_manual and wait._waits._made_in == threading.get_ident()",
        "    return is_manual",
    ),
    Mutant("a result waits until its wait has told", BLOCKING, "    if wait.done():\n        return\n", ""),
    # Futures and coroutines
    Mutant("a cancelled future is kept", FUTURE, "            self._wait._unhang(self)\n", "            pass\n"),
    Mutant(
        "a coroutine is dropped",
        ENDING,
        "            elif (returned := callback(wait)) is not None:",
        "            elif (returned := callback(wait)) is not None and False:",
    ),
    Mutant("a coroutine runs where the wait ended", COROUTINES, "            if loop is here:", "            if True:"),
    Mutant(
        "what a coroutine raises is dropped",
        COROUTINES,
        "                failed(wait, exception)",
        "                pass",
    ),
    Mutant(
        "a hub that nobody entered does not start",
        FACE,
        "and self._waits._is_open:\n            self._start()\n",
        "and self._waits._is_open:\n            pass\n",
    ),
    Mutant("a rule and a condition", PLAN, "    if until is not None or within is not None:", "    if False:"),
    Mutant(
        "a wait is copied", WAIT, "        refuse_to_copy(self)\n", "        return super().__reduce_ex__(protocol)\n"
    ),
    Mutant(
        "compiled: a coroutine is dropped",
        CORE,
        "                if returned is not None:",
        "                if False:",
    ),
    Mutant(
        "compiled: what was seen of keys before the lock is believed",
        CORE,
        "            if changes != self.changes:         # from",
        "            if False:         # from",
    ),
    Mutant(
        "compiled: a signal that met a wait on its way in is lost",
        CORE,
        "(changes != self.changes or not self._memory.stands(early))",
        "not self._memory.stands(early)",
    ),
    # Recipes
    Mutant("every item counts as one", RECIPES, '"item", value=size)', '"item", value=1)'),
    Mutant("batches share a key", RECIPES, "Batch((self._key, next(batch_numbers)), [])", "Batch((self._key, 0), [])"),
    Mutant(
        "one replica acknowledges for all",
        RECIPES,
        'seen("ack", times=acks, distinct="source")',
        'seen("ack", times=acks)',
    ),
    Mutant(
        "delayed futures share a key", RECIPES, "hub, (key, next(future_numbers)), callback", "hub, (key, 0), callback"
    ),
    Mutant("late futures are not cancelled", RECIPES, "                future.cancel()\n", "                pass\n"),
    Mutant(
        "late futures are remembered", RECIPES, "        if self.wait.outcome is None:  # or", "        if True:  # or"
    ),
    Mutant("a switch that was stopped goes off", RECIPES, 'if wait.outcome == "expired" and self', "if self"),
    # The compiled core
    Mutant(
        "compiled: a signal at the deadline is too late",
        CORE,
        "if met_at != NOT_YET and met_at <= deadline",
        "if met_at != NOT_YET and met_at < deadline",
    ),
    Mutant(
        "compiled: a part at the deadline is too late",
        CORE,
        "not self.ended and at <= self.last_instant()",
        "not self.ended and at < self.last_instant()",
    ),
    Mutant(
        "compiled: the timer comes in the deadline's own instant",
        CORE,
        "until + 1 - now,",
        "until - now,",
    ),
    Mutant(
        "compiled: a wait is over in its last instant",
        CORE,
        "now > self.last_instant():",
        "now >= self.last_instant():",
    ),
    Mutant(
        "compiled: a signal that was on its way is stamped before the opening",
        CORE,
        "            at = self.opened_at\n        return verdict(",
        "            pass\n        return verdict(",
    ),
    Mutant(
        "compiled: early signals are not recalled",
        CORE,
        "                for event in self._memory.recall(early, wait.opened_at, wait):\n",
        "                for event in ():\n",
    ),
    Mutant(
        "compiled: a second callback replaces the first",
        CORE,
        "            several[id(self.callbacks)] = self.callbacks\n",
        "",
    ),
    Mutant(
        "compiled: a callback that comes late is hung on nothing",
        CORE,
        "        if self.has_told:\n            return False\n",
        "",
    ),
    Mutant(
        "compiled: one wait more than the limit",
        CORE,
        "if self._delayed >= self._limit:",
        "if self._delayed > self._limit:",
    ),
    Mutant(
        "compiled: a future is resolved in the wrong thread", CORE, "    if not is_here(loop):\n", "    if False:\n"
    ),
    Mutant(
        "compiled: the loop of the latest future runs everywhere",
        CORE,
        "last_loop and PyThread_get_thread_ident() == last_thread or",
        "last_loop or",
    ),
    Mutant(
        "compiled: the loop of the latest future is the one that runs",
        CORE,
        "if run is not None and run is last_run:",
        "if last_loop is not None and last_loop.is_running():",
    ),
    Mutant(
        "compiled: a future that was cancelled is resolved all the same",
        CORE,
        "    elif not future.done(): ",
        "    else: ",
    ),
    Mutant("compiled: an outcome that expired was met", CORE, "at if self.ended == COMPLETED else None", "at"),
    Mutant("compiled: the plan of the wait before", CORE, "and within is last[1]", ""),
    Mutant(
        "compiled: several parts are read without a lock",
        CORE,
        "        if self.single is not None:\n            return not self.is_over(now)",
        "        if True:\n            return not self.is_over(now)",
    ),
]
