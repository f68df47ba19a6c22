"""Bugs for the hub: the pure waits and signals, what both builds share, the recipes, and the compiled core."""

from __future__ import annotations

from .mutant import Mutant

WAIT = "src/sojourn/hub/_wait.py"
PLAN = "src/sojourn/hub/_plan.py"
MEMORY = "src/sojourn/hub/_memory.py"
ENDING = "src/sojourn/hub/_ending.py"
FACE = "src/sojourn/hub/hub.py"
RECIPES = "src/sojourn/recipes.py"
CORE = "src/sojourn/hub/_core.pyx"

MUTANTS = [
    # Time and ties
    Mutant(
        "a signal at the deadline is too late", WAIT, "if event.at <= self._until and", "if event.at < self._until and"
    ),
    Mutant("late signals count until the timer comes", WAIT, "if event.at <= self._until and", "if"),
    Mutant(
        "the timer comes in the deadline's own instant",
        WAIT,
        "wait._until - wait.opened_at + 1",
        "wait._until - wait.opened_at",
    ),
    Mutant(
        "a cancellation does not wait for its instant to end",
        PLAN,
        "            wait._cancel_at(event)\n",
        "            wait.cancel()\n",
    ),
    Mutant(
        "a cancellation goes before what completes with it",
        PLAN,
        "if wait._progress.met_at is not None:",
        "if wait._progress.met_at is not None and event.kind != rule.cancels:",
    ),
    Mutant(
        "a beat moves nothing", PLAN, "if event.kind == rule.keeps_alive", "if False and event.kind == rule.keeps_alive"
    ),
    # Signals
    Mutant("the inbox is not read again", WAIT, "        while self._inbox:\n", "        if self._inbox:\n"),
    Mutant(
        "only the first wait of a key hears",
        WAIT,
        "            for wait in waits:\n                wait._inbox.append",
        "            for wait in waits[:1]:\n                wait._inbox.append",
    ),
    Mutant(
        "a value that makes no sense is swallowed",
        PLAN,
        '            raise RuleError(f"signal',
        '            return False\n            raise RuleError(f"signal',
    ),
    Mutant(
        "two sources of one kind make a single wait",
        PLAN,
        "rule.until == Seen(rule.until.kind) and not others",
        "not others",
    ),
    # Memory
    Mutant("an early signal keeps its own stamp", MEMORY, "event._replace(at=opened_at) for event", "event for event"),
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
    # Ends
    Mutant(
        "a callback that comes late is lost",
        ENDING,
        "    if not wait._hang(callback):\n        _call(wait, callback)",
        "    wait._hang(callback)",
    ),
    Mutant(
        "a callback that raises silences the next",
        ENDING,
        "        wait._hub._failed(wait, exception)",
        "        raise",
    ),
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
    Mutant("a future is resolved in the wrong thread", ENDING, "if threading.get_ident() == thread_id:", "if True:"),
    Mutant("a future that was cancelled is resolved all the same", ENDING, "    if not future.done():", "    if True:"),
    Mutant("a result comes too early", ENDING, "and not ended.wait(timeout):", "and timeout is not None:"),
    # The face
    Mutant("an id is forgotten", FACE, "self._by_id.get(wait_id)", "None"),
    Mutant(
        "an id is remembered for ever",
        FACE,
        "            self._by_id.pop(self._ended_ids.popleft()[1], None)",
        "            self._ended_ids.popleft()",
    ),
    Mutant("due before a time includes that time", FACE, "wait.deadline < due_before", "wait.deadline <= due_before"),
    Mutant("closing leaves everybody waiting", FACE, "cancel_pending: bool = True)", "cancel_pending: bool = False)"),
    Mutant("plans are known by their condition alone", FACE, "id(asked), within)", "id(asked), None)"),
    Mutant("one wait more than the limit", WAIT, "if self._delayed >= self._limit:", "if self._delayed > self._limit:"),
    # Recipes
    Mutant("every item counts as one", RECIPES, "value=self._size(item)", "value=1"),
    Mutant(
        "one replica acknowledges for all",
        RECIPES,
        'seen("ack", times=acks, distinct="source")',
        'seen("ack", times=acks)',
    ),
    # The compiled core
    Mutant("compiled: a signal at the deadline is too late", CORE, "or at > wait.until():", "or at >= wait.until():"),
    Mutant(
        "compiled: the last of several at the deadline is too late",
        CORE,
        "if <int64_t>event.at <= self.until()",
        "if <int64_t>event.at < self.until()",
    ),
    Mutant(
        "compiled: the timer comes in the deadline's own instant",
        CORE,
        "wait.until() - wait.opened_at + 1",
        "wait.until() - wait.opened_at",
    ),
    Mutant("compiled: the inbox is not read again", CORE, "        while self.inbox:\n", "        if self.inbox:\n"),
    Mutant(
        "compiled: early signals are not recalled", CORE, "wait.inbox = self._memory.recall(", "self._memory.recall("
    ),
    Mutant(
        "compiled: a second callback replaces the first",
        CORE,
        "            several[0] = self.callback\n            self.callback = several\n",
        "            self.callback = callback\n",
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
    Mutant("compiled: the plan of the wait before", CORE, "and within is self.last_within", ""),
]
