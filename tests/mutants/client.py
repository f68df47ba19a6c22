"""Bugs for the client: answers that get lost, the stream that all share, handles, errors."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/service/client"

MUTANTS = [
    Mutant(
        "an exit in a callback ends the stream",
        f"{ROOM}/events.py",
        "        except (SystemExit, KeyboardInterrupt):\n",
        "        except ZeroDivisionError:\n",
    ),
    Mutant(
        "of many, some may be refused",
        f"{ROOM}/verbs.py",
        '"/v1/batch?atomic=true"',
        '"/v1/batch"',
    ),
    Mutant(
        "signals have no ids of their own",
        f"{ROOM}/verbs.py",
        "signal_shape(row, checked_id(given) or uuid4().hex, at)",
        "signal_shape(row, checked_id(given), at)",
    ),
    Mutant(
        "a shift is said again though it may have arrived",
        f"{ROOM}/transport.py",
        "if lost.was_sent and not is_repeatable:",
        "if False:",
    ),
    Mutant(
        "a lost answer is not asked for again",
        f"{ROOM}/transport.py",
        "if self._now_s() + pause_s > give_up_s:\n                    raise",
        "if True:\n                    raise",
    ),
    Mutant(
        "a busy service is not asked again",
        f"{ROOM}/refusals.py",
        "return answer.status in BUSY and",
        "return False and",
    ),
    Mutant(
        "a full hub is asked again and again",
        f"{ROOM}/refusals.py",
        'AT_ONCE = ("HubFullError", ',
        "AT_ONCE = (",
    ),
    Mutant(
        "a cancellation whose answer was lost says False",
        f"{ROOM}/verbs.py",
        "if not is_ours and answer.is_repeated and",
        "if False and",
    ),
    Mutant(
        "the stream begins anew from where it began",
        f"{ROOM}/events.py",
        '                self._advance_to(shape["number"])\n',
        "",
    ),
    Mutant(
        "a stream that was cut is not taken up again",
        f"{ROOM}/events.py",
        "                connected = None if self._transport.closing.is_set() else self._reconnected()\n",
        "                return\n",
    ),
    Mutant(
        "what came while an answer was under way is not kept",
        f"{ROOM}/known.py",
        "                self._meanwhile[told.operation_id] = told\n",
        "                pass\n",
    ),
    Mutant(
        "an outcome that was there before is not asked for",
        f"{ROOM}/verbs.py",
        "            if self.get(wait) is None:\n",
        "            if False:\n",
    ),
    Mutant(
        "a wait with a callback is not held",
        f"{ROOM}/wait.py",
        "        self._owner._hold(self, True)\n",
        "",
    ),
    Mutant(
        "a wait that has ended is held for ever",
        f"{ROOM}/wait.py",
        "            self._owner._hold(self, False)\n            self._owner._call",
        "            self._owner._call",
    ),
    Mutant(
        "a signal is answered before its outcomes are known",
        f"{ROOM}/verbs.py",
        "        if completed:\n            self._catch_up(answer)\n",
        "",
    ),
    Mutant(
        "the thread of the stream waits for itself",
        f"{ROOM}/verbs.py",
        "if not self.events.is_following or self.events.is_here() or",
        "if not self.events.is_following or",
    ),
    Mutant(
        "closing leaves those who wait",
        f"{ROOM}/hub.py",
        "            self._strand(wait, PurgatoryClosedError(",
        "            str(PurgatoryClosedError(",
    ),
    Mutant(
        "a rule registered again is refused while waits have it",
        f"{ROOM}/verbs.py",
        'rule.name, replace="true")',
        "rule.name)",
    ),
    Mutant(
        "parts of a path are not quoted",
        f"{ROOM}/transport.py",
        'quote(part, safe=":")',
        'quote(part, safe=":/")',
    ),
    Mutant(
        "pending waits are in the order of opening",
        f"{ROOM}/verbs.py",
        "return sorted(found, key=lambda wait: wait.deadline)",
        "return found",
    ),
    Mutant(
        "of a list only the first page is read",
        f"{ROOM}/verbs.py",
        '            after = page["next"]\n',
        "            after = None\n",
    ),
    Mutant(
        "decimals become floats on the way",
        "src/sojourn/rules/plain.py",
        "return str(value) if isinstance(value, Decimal) else value",
        "return float(value) if isinstance(value, Decimal) else value",
    ),
    Mutant("a token is not sent", f"{ROOM}/wire.py", "{} if token is None else", "{} if True else"),
]
