"""Bugs for incidents and insight: clocks that stand, shifts undone, what is due, what is to be expected."""

from __future__ import annotations

from .mutant import Mutant

DURABLE, INSIGHT = "src/sojourn/durable", "src/sojourn/service/insight"

MUTANTS = [
    Mutant(
        "time passes for a wait that is opened while its clock stands",
        f"{DURABLE}/verbs.py",
        "            if self._state.stopped:\n                self.acts.hold(opened, stamp)\n",
        "",
    ),
    Mutant(
        "time passes for a wait that is extended while its clock stands",
        f"{DURABLE}/acts.py",
        "return stamp + within_ms if stop is None else stop.at + within_ms + FAR",
        "return stamp + within_ms if stop is None else stamp + within_ms + FAR",
    ),
    Mutant(
        "a resumption forgets the time that has passed",
        f"{DURABLE}/acts.py",
        "self._record(stamp, rule, None, stamp - stop.at - FAR, None",
        "self._record(stamp, rule, None, -FAR, None",
    ),
    Mutant(
        "an undone shift moves waits that came later",
        f"{DURABLE}/acts.py",
        '-act.by_ms, act.before_seq, "undo"',
        '-act.by_ms, None, "undo"',
    ),
    Mutant(
        "an undone shift ends waits in the past",
        f"{DURABLE}/state/incidents.py",
        "return deadline + by_ms if by_ms >= 0 else max(deadline + by_ms, stamp)",
        "return deadline + by_ms",
    ),
    Mutant(
        "a snapshot forgets which clocks stand",
        f"{DURABLE}/recovery/snapshot.py",
        "    state.incidents = Incidents(acts)\n",
        "",
    ),
    Mutant(
        "a rule that signals keep alive is stopped",
        f"{DURABLE}/acts.py",
        "if any(plan.rule.keeps_alive and plan.rule.name == rule for plan in state.plans.values()):",
        "if False:",
    ),
    Mutant(
        "what the index has is resumed too late",
        f"{DURABLE}/state/state.py",
        "            self.cold.where(self._where(rule, key_prefix))\n        elif",
        "            count = self.cold.shift(self._where(rule, key_prefix, stamp), stamp, by_ms, self.shifts)\n        elif",
    ),
    Mutant(
        "the law moves back what came after a shift",
        f"{DURABLE}/dataset/waits.py",
        "chosen = chosen if before_seq is None else chosen[self.number[chosen] < before_seq]",
        "pass",
    ),
    Mutant(
        "a wait that has gone is still counted as due",
        f"{DURABLE}/state/due.py",
        "        self.by_minute[minute] -= 1\n",
        "",
    ),
    Mutant(
        "many that are opened together are not counted as due",
        f"{DURABLE}/state/due.py",
        "self.by_minute.get(minute, 0) + len(seqs)",
        "self.by_minute.get(minute, 0) + 1",
    ),
    Mutant(
        "a page leaves out what is only on the disk",
        f"{DURABLE}/state/pages.py",
        "    state.cold.of_seqs(found)\n",
        "",
    ),
    Mutant(
        "what to expect of a wait does not depend on its age",
        f"{INSIGHT}/history.py",
        "        met = self.curve.by(age_ms).share\n",
        "        met = 0.0\n",
    ),
    Mutant(
        "what came after the end counted",
        f"{INSIGHT}/timeline.py",
        'return "counted" if wait.ended_at is None or at <= wait.ended_at else "after it had ended"',
        'return "counted"',
    ),
]
