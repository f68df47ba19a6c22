"""Bugs for the service: who may do what, exactly once, in order, and what is said about it."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/service"

MUTANTS = [
    Mutant(
        "any known token may do everything",
        f"{ROOM}/access/door.py",
        "        if not bearer.may(needed):\n",
        "        if False:\n",
    ),
    Mutant(
        "the short way asks for no scope",
        f"{ROOM}/access/door.py",
        "return bearer.may(needed) and (self._per_second",
        "return (self._per_second",
    ),
    Mutant(
        "the short way asks for no token",
        f"{ROOM}/quick.py",
        '            and service.door.lets_in(headers, "write")\n',
        "",
    ),
    Mutant(
        "a page from elsewhere may write",
        f"{ROOM}/access/door.py",
        "if origin is not None and method in _CHANGING and",
        "if origin is not None and method not in _CHANGING and",
    ),
    Mutant(
        "a name that leads here by somebody else's DNS is this machine",
        f"{ROOM}/access/door.py",
        "if self._is_local and not self._tokens and host and not",
        "if self._is_local and self._tokens and host and not",
    ),
    Mutant(
        "a public address needs no tokens",
        f"{ROOM}/settings.py",
        "        if not self.tokens:\n",
        "        if False:\n",
    ),
    Mutant(
        "a public address needs no TLS",
        f"{ROOM}/settings.py",
        "if self.tls is None and not self.tls_elsewhere:",
        "if self.tls is None and self.tls_elsewhere:",
    ),
    Mutant(
        "a body may be as large as it likes",
        f"{ROOM}/api/endpoint.py",
        "            if size > most:\n",
        "            if False:\n",
    ),
    Mutant(
        "a batch counts as one request",
        f"{ROOM}/access/door.py",
        "            self._bucket(bearer).spend(more)\n",
        "            self._bucket(bearer).spend(0)\n",
    ),
    Mutant(
        "a wait said twice in the same moment is new twice",
        f"{ROOM}/turns/acts.py",
        "                next_seq = seq + 1  # ",
        "                pass  # ",
    ),
    Mutant(
        "where one of a run is refused, all are",
        f"{ROOM}/turns/gather.py",
        "        for one in run:\n            yield from opened(service, [one], stamp)\n",
        "        yield from [error] * len(run)\n",
    ),
    Mutant(
        "a wait that a remembered signal has completed is answered as pending",
        f"{ROOM}/routes/waits.py",
        "    if shape is None and wait.done():\n",
        "    if False:\n",
    ),
    Mutant(
        "a refusal speaks of Python",
        f"{ROOM}/api/problems.py",
        "        detail = detail.replace(in_python, words)\n",
        "        pass\n",
    ),
    Mutant(
        "an atomic batch may have anything in it",
        f"{ROOM}/routes/atomic.py",
        "    _check_alike(asked)\n",
        "",
    ),
    Mutant(
        "an atomic batch goes on without a line that makes no sense",
        f"{ROOM}/routes/batch.py",
        "            raise atomic.refused_by(one, len(asked) + 1)\n",
        "            continue\n",
    ),
    Mutant(
        "signals of an atomic batch are refused one by one",
        f"{ROOM}/routes/atomic.py",
        "signalling(service.verbs, cast(Sequence[Signal], asked))",
        "lambda stamp: sum(signalling(service.verbs, [cast(Signal, one)])(stamp) for one in asked)",
    ),
    Mutant(
        "a rule in use is replaced",
        f"{ROOM}/turns/acts.py",
        "        if number is not None and not replace and",
        "        if number is not None and replace and",
    ),
    Mutant(
        "streams go on when the service stops",
        f"{ROOM}/routes/outcomes.py",
        "(self._is_over or leaving.done() or self._service.draining.is_set())",
        "(self._is_over or leaving.done())",
    ),
    Mutant(
        "a stream begins anew whatever its reader has heard",
        f"{ROOM}/routes/outcomes.py",
        'after = request.whole("after", 0) if given is None else int(given)',
        'after = request.whole("after", 0)',
    ),
    Mutant(
        "a stream of one rule has them all",
        f"{ROOM}/feed.py",
        "if rule is None or told.rule == rule:",
        "if rule is None or told.rule:",
    ),
    Mutant(
        "an escaped slash parts a path",
        f"{ROOM}/api/endpoint.py",
        '    parts = raw.split(b"/")[1:]\n    return [unquote_to_bytes(part) for part in parts] if b"%" in raw else parts\n',
        '    return unquote_to_bytes(raw).split(b"/")[1:]\n',
    ),
    Mutant(
        "with a full disk nothing can be read",
        f"{ROOM}/service.py",
        "        except DiskError:\n",
        "        except ZeroDivisionError:\n",
    ),
    Mutant(
        "a page leaves out its last wait",
        "src/sojourn/durable/state/pages.py",
        "    for seq in range(after + 1, last + 1):\n",
        "    for seq in range(after + 1, last):\n",
    ),
]
