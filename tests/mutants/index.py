"""Bugs for the index of a durable hub: the log is the truth, and a wait is the same wherever it is."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/durable"

MUTANTS = [
    Mutant(
        "the index is trusted over the log",
        f"{ROOM}/recovery/recovery.py",
        "        offset = start.offset if header.segment == start.segment else 0\n",
        "        if state.cold is not None and state.cold.index.mark is not None and until is None:\n"
        "            continue\n"
        "        offset = start.offset if header.segment == start.segment else 0\n",
    ),
    Mutant(
        "an index of another log is used",
        f"{ROOM}/recovery/recovery.py",
        "if mark is None or index.is_broken or Header(*mark.header) not in found:",
        "if mark is None or index.is_broken:",
    ),
    Mutant(
        "an index ahead of its log is used",
        f"{ROOM}/recovery/recovery.py",
        "    return place if place.offset <= end else None\n",
        "    return place\n",
    ),
    Mutant(
        "an index that was not closed before the machine was is used",
        f"{ROOM}/index/index.py",
        ' or not (is_sealed or self._about("boot") == boot())',
        "",
    ),
    Mutant(
        "an index that was damaged at rest is used",
        f"{ROOM}/index/index.py",
        "        if not is_whole:\n",
        "        if False:\n",
    ),
    Mutant(
        "rows of the index are not checked",
        f"{ROOM}/index/index.py",
        "        if crc32(text.encode()) != crc:\n",
        "        if False:\n",
    ),
    Mutant(
        "entries of keys are not checked",
        f"{ROOM}/index/index.py",
        "elif key_crc(key, seq, shifts, plan, opened_at, deadline, within_ms) != crc:",
        "elif False:",
    ),
    Mutant(
        "a key leads to what its wait was",
        f"{ROOM}/index/index.py",
        '            self._put_keys("REPLACE", chunk, shifts)\n',
        "",
    ),
    Mutant(
        "a wait with an id is taken for a plain one",
        f"{ROOM}/index/rows.py",
        "not given_id is cancelled_at is payload",
        "not cancelled_at is payload",
    ),
    Mutant(
        "a row counts though its wait has changed",
        f"{ROOM}/index/cold.py",
        "if seq not in waits and seq not in changed and",
        "if seq not in waits and",
    ),
    Mutant(
        "a row counts while it is written anew",
        f"{ROOM}/index/cold.py",
        " and seq not in frozen and seq not in untold",
        " and seq not in untold",
    ),
    Mutant(
        "what ended stays in the index",
        f"{ROOM}/index/cold.py",
        "            index.remove(sorted(gone))\n",
        "",
    ),
    Mutant(
        "waits that somebody holds leave memory",
        f"{ROOM}/index/cold.py",
        "        if (kept := held()) is not None:",
        "        if (kept := held()) is None and False:",
    ),
    Mutant(
        "a signal reaches only those in memory",
        f"{ROOM}/index/cold.py",
        "(key in self.partial if key in by_key else may_have(key))",
        "(key not in by_key and may_have(key))",
    ),
    Mutant(
        "what is due in the index does not come in",
        f"{ROOM}/index/cold.py",
        "            self.near = instant_of(row), seq\n",
        "            self.near = until, LAST\n",
    ),
    Mutant(
        "what was moved in the index is not",
        f"{ROOM}/index/cold.py",
        "                wait.deadline += sweep.by_ms\n",
        "",
    ),
    Mutant(
        "a filter forgets the ids",
        f"{ROOM}/index/index.py",
        '        renewed.add(ID + given_id for given_id in self._column("by_id", "id"))\n',
        "",
    ),
    Mutant(
        "an index that failed is asked again",
        f"{ROOM}/engine.py",
        "        if self._is_stale or self.index.is_broken:\n            self._rebuild()\n        self.state",
        "        if self._is_stale:\n            self._rebuild()\n        self.state",
    ),
    Mutant(
        "a wait that was read has what its neighbour was given",
        f"{ROOM}/state/waits.py",
        "        place = seq - self.first_seq\n",
        "        place = max(0, seq - self.first_seq - 1)\n",
    ),
    Mutant(
        "a wait that was read is not known by its id",
        f"{ROOM}/state/roster.py",
        "            self.ids.update((given, seq) for given, seq in zip(opened.ids, seqs, strict=True) if given is not None)\n",
        "            pass\n",
    ),
    Mutant(
        "the id of a wait that was read goes when it ends",
        f"{ROOM}/state/waits.py",
        "            opened._state.ids[wait.given_id] = wait\n",
        "            pass\n",
    ),
    Mutant(
        "a wait that was read is written without its payload",
        f"{ROOM}/state/waits.py",
        "self._plan_number, *times, payload, None, None)",
        "self._plan_number, *times, None, None, None)",
    ),
    Mutant(
        "a wait is completed by each of several signals",
        f"{ROOM}/state/state.py",
        "                    self.unlist(key, there)  # at once: the next signal may have the same key\n",
        "",
    ),
    Mutant(
        "a crowd goes on in the order that it had",
        f"{ROOM}/state/due.py",
        "            there = self._at[instant] = dict.fromkeys(sorted(there))\n            self._front_of = None\n",
        "            there = self._at[instant] = dict.fromkeys(sorted(there))\n",
    ),
    Mutant(
        "a crowd is mistaken for one that was there before",
        f"{ROOM}/state/due.py",
        "        if self._front_of == instant:\n            self._front_of = None\n",
        "",
    ),
    Mutant(
        "memory is never too full for what is read",
        f"{ROOM}/index/cold.py",
        "        return self.most_changed if is_tight else HASTE * self.most_changed\n",
        "        return HASTE * self.most_changed * 1_000\n",
    ),
    Mutant(
        "a running hub sees the index from in between",
        f"{ROOM}/recovery/recovery.py",
        ", is_writable=not is_shared)",
        ")",
    ),
]
