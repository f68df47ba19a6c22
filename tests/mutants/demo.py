"""Bugs for the live view, and for `explain`."""

from __future__ import annotations

from .mutant import Mutant

WORLD = "src/sojourn/demo/world.py"
PACE = "src/sojourn/demo/pace.py"
DRIVER = "src/sojourn/demo/driver.py"
CENSUS = "src/sojourn/demo/census.py"
READING = "src/sojourn/demo/reading.py"
DIAL = "src/sojourn/demo/dial.py"
PANEL = "src/sojourn/demo/panel.py"
APP = "src/sojourn/demo/app.py"
SHOW = "src/sojourn/demo/show.py"
EXPLAIN = "src/sojourn/pipeline/results/explain.py"

MUTANTS = [
    Mutant("a herd is replaced", WORLD, "        self._in_herds -= 1\n", "        pass\n"),
    Mutant("the dead send signals", WORLD, "        if source.is_alive:\n", "        if True:\n"),
    Mutant("few waits never fill up", WORLD, "ceil(waits / FILL_MS)", "max(1, waits // FILL_MS)"),
    Mutant("in time is early", WORLD, "self.now_ms < due_ms", "self.now_ms <= due_ms"),
    Mutant("lateness in virtual time", PACE, "/ self.speed))", "))"),
    Mutant(
        "a new speed rewrites the past", PACE, "        self.restart_at(self.now_ns())\n        at =", "        at ="
    ),
    Mutant("the old speed is still reached", DRIVER, "        self.observer.changed_speed()\n", ""),
    Mutant("what is late is never forgiven", DRIVER, "if pace.late_ns(world.now_ms + 1) > MOST_LATE_NS:", "if False:"),
    Mutant("a herd is seen late", DRIVER, "        self.observer.census.count_all()\n", ""),
    Mutant("passed buckets look full", CENSUS, "{turn % size for turn in range(before, after + 1)}", "set()"),
    Mutant("a look counts too much", CENSUS, "counted > BUDGET", "counted > 10 * BUDGET"),
    Mutant("rates by real time", READING, "* 1000 / passed_ms)", "* 4)"),
    Mutant("hands jump", READING, "min(pace.now_ns(), world.next_ns)", "world.now_ms * NS_PER_MS"),
    Mutant("no afterglow", DIAL, "max(new, old * AFTERGLOW)", "new"),
    Mutant("hands flicker", DIAL, "    if turned > TRAIL:\n        return blurs\n", ""),
    Mutant("lateness overflows", PANEL, "    title.truncate(width)\n", ""),
    Mutant("panels overflow", PANEL, "        if spare < rows[name]:", "        if spare < 0:"),
    Mutant("sentences are cut", APP, "#words {{ height: 3;", "#words {{ height: 2;"),
    Mutant("it does not end", APP, "reading.seconds >= self.seconds", "reading.seconds >= 2 * self.seconds"),
    Mutant(
        "a broken promise is well", SHOW, "return 0 if all(is_kept for _, is_kept, _ in promises) else 1", "return 0"
    ),
    Mutant("what ends it had ended", EXPLAIN, "    if late_ms <= 0:\n", "    if late_ms < 0:\n"),
    Mutant(
        "ids are not found",
        EXPLAIN,
        "who in (case[1].outcome.operation_id, case[1].outcome.key)",
        "who in (case[1].outcome.key,)",
    ),
    Mutant("the first opens again", EXPLAIN, 'if rule.per == "each" else', "if True else"),
]
