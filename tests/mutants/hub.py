"""Bugs for the hub: the pure waits and signals, what both builds share, the recipes, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

WAIT = "src/sojourn/hub/_wait.py"
PLAN = "src/sojourn/hub/_plan.py"
IDS = "src/sojourn/hub/_ids.py"
MEMORY = "src/sojourn/hub/_memory.py"
ENDING = "src/sojourn/hub/_ending.py"
FACE = "src/sojourn/hub/hub.py"
RECIPES = "src/sojourn/recipes.py"
CORE = "src/sojourn/hub/_core.pyx"

MUTANTS = [
    # Time and ties
    Mutant("a signal at the deadline is too late", WAIT, "event.at > self._until():", "event.at >= self._until():"),
    Mutant(
        "late signals count until the timer comes",
        WAIT,
        "        return at <= self._until() and self._end(",
        "        return self._end(",
    ),
    Mutant("a late part counts until the timer comes", WAIT, " or event.at > self._until():", ":"),
    Mutant("the timer comes in the deadline's own instant", WAIT, "(until + 1 - now_ms,)", "(until - now_ms,)"),
    Mutant("a wait is over in its last instant", WAIT, "now_ms > self._until():", "now_ms >= self._until():"),
    Mutant(
        "what is overdue is cancelled",
        WAIT,
        'return not self._is_over(now_ms) and self._end("cancelled"',
        'return self._end("cancelled"',
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
        "and self._cancellation is None and self._hub._has_timer()",
        "and self._hub._has_timer()",
    ),
    Mutant(
        "a cancellation does not wait for its instant to end",
        PLAN,
        "            wait._cancel_at(event.at, event.kind)\n",
        "            wait._cancel_untold(event.at)\n            wait._tell()\n",
    ),
    Mutant(
        "a cancellation goes before what completes with it",
        PLAN,
        "if event.kind in rule.places_by_kind and self._count(wait, event):",
        "if event.kind in rule.places_by_kind and self._count(wait, event) and event.kind != rule.cancels:",
    ),
    Mutant(
        "a beat moves nothing", PLAN, "if event.kind == rule.keeps_alive", "if False and event.kind == rule.keeps_alive"
    ),
    Mutant("a beat moves the deadline back", WAIT, "if deadline > self.deadline:", "if deadline != self.deadline:"),
    # Signals
    Mutant(
        "a signal that was on its way is stamped before the opening", WAIT, "if event.at < self.opened_at:", "if False:"
    ),
    Mutant(
        "only the first wait of a key hears",
        WAIT,
        "                for wait in waits:\n",
        "                for wait in waits[:1]:\n",
    ),
    Mutant(
        "a value that makes no sense is swallowed",
        PLAN,
        '            raise RuleError(f"signal',
        '            return False\n            raise RuleError(f"signal',
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
        "            if not self._is_over(now_ms):\n                self._hub._arm(self, self._until(), now_ms)\n",
        '            self._end("expired", self.deadline, "deadline")\n',
    ),
    Mutant("a cancellation moves no timer", WAIT, "            self._hub._arm(self, at, at)\n", ""),
    Mutant(
        "the limit is checked before the door",
        WAIT,
        "        with lock:\n            if self._delayed >= self._limit:\n                self._refuse_more()\n",
        "        with lock:\n            if self._delayed >= self._limit:\n                self._refuse_more()\n        with lock:\n",
    ),
    Mutant("one wait more than the limit", WAIT, "if self._delayed >= self._limit:", "if self._delayed > self._limit:"),
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
        "if len(self._events) > self._most",
        "if len(self._events) > self._most + 1",
    ),
    Mutant(
        "a key without signals stays in memory",
        MEMORY,
        "        if not of_key:\n            del self._by_key[key]\n",
        "",
    ),
    Mutant(
        "an early value that makes no sense disappears",
        MEMORY,
        "            self._passed_over.append((wait, error))\n",
        "",
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
        "            wait._hub._failed(wait, exception)",
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
        "[*held, callback] if type(held) is list",
        "[callback] if type(held) is list",
    ),
    Mutant(
        "callbacks can still be hung when they have been called",
        WAIT,
        "            if self._callbacks is DONE:\n                return False\n",
        "            if self._callbacks is DONE:\n                self._callbacks = None\n",
    ),
    Mutant("who asks in vain stays", ENDING, "        wait._unhang(wake)\n", ""),
    Mutant("who awaits in vain stays", ENDING, "        wait._unhang(future)\n", ""),
    Mutant("a future is resolved in the wrong thread", ENDING, "if asyncio._get_running_loop() is loop:", "if True:"),
    Mutant("a future that was cancelled is resolved all the same", ENDING, "    if not future.done():", "    if True:"),
    Mutant("a result comes too early", ENDING, "and not ended.wait(timeout):", "and timeout is not None:"),
    # The face
    Mutant("an id is forgotten", IDS, "wait = self._waits.get(wait_id)", "wait = None"),
    Mutant("an id is remembered for ever", IDS, "                del self._waits[gone.id]\n", "                pass\n"),
    Mutant(
        "the new wait of an id is forgotten with the old one",
        IDS,
        "if self._waits.get(gone.id) is gone:",
        "if gone.id in self._waits:",
    ),
    Mutant(
        "an id is free only when all have been told", IDS, "self._keep_ms is None or", "self._keep_ms is not None and"
    ),
    Mutant(
        "an id is looked up before the lock",
        FACE,
        "        with self._lock:\n            known = self._ids.get(wait_id, now_ms)\n",
        "        known = self._ids.get(wait_id, now_ms)\n        with self._lock:\n",
    ),
    Mutant("due before a time includes that time", FACE, "wait.deadline < due_before", "wait.deadline <= due_before"),
    Mutant("closing leaves everybody waiting", FACE, "cancel_pending: bool = True)", "cancel_pending: bool = False)"),
    Mutant(
        "closing looks at the clock too soon",
        FACE,
        "        with self._lock:\n            self._is_open = False\n            left: builtins.list[Any] = self._pending()\n        now_ms = self.now_ms()",
        "        now_ms = self.now_ms()\n        with self._lock:\n            self._is_open = False\n            left: builtins.list[Any] = self._pending()\n       ",
    ),
    Mutant(
        "plans are known by their condition alone",
        FACE,
        "asked = (until, within, type(within), rule)",
        "asked = (until, rule)",
    ),
    Mutant("plans are kept for ever", FACE, "if len(self._plans) >= PLANS_KEPT:", "if False:"),
    Mutant(
        "plans are kept without the lock",
        FACE,
        "            with self._lock:\n                if len(self._plans)",
        "            if True:\n                if len(self._plans)",
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
        "return at <= self.until() and self.end(COMPLETED",
        "return at < self.until() and self.end(COMPLETED",
    ),
    Mutant(
        "compiled: a part at the deadline is too late",
        CORE,
        "not self.ended and at <= self.until()",
        "not self.ended and at < self.until()",
    ),
    Mutant(
        "compiled: the timer comes in the deadline's own instant",
        CORE,
        "until + 1 - now,",
        "until - now,",
    ),
    Mutant("compiled: a wait is over in its last instant", CORE, "now > self.until():", "now >= self.until():"),
    Mutant(
        "compiled: a signal that was on its way is stamped before the opening",
        CORE,
        "            at = self.opened_at\n        return at <=",
        "            pass\n        return at <=",
    ),
    Mutant(
        "compiled: early signals are not recalled",
        CORE,
        "                    for event in recalled:\n",
        "                    for event in recalled[:0]:\n",
    ),
    Mutant(
        "compiled: a second callback replaces the first",
        CORE,
        "            several[0] = self.callbacks\n            self.callbacks = several\n",
        "            self.callbacks = callback\n",
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
