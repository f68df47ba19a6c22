"""Bugs for the data set of a durable hub, for verify, and for what looks at folders from outside."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/durable"

MUTANTS = [
    # The data set
    Mutant(
        "a file has its name before it is whole",
        f"{ROOM}/dataset/parquet.py",
        'draft = f"{folder}/.{last}.draft"',
        "draft = name",
    ),
    Mutant("a file is not synced before it gets its name", f"{ROOM}/dataset/parquet.py", "        file.sync()\n", ""),
    Mutant(
        "a segment counts as converted before its rows are there",
        f"{ROOM}/dataset/parquet.py",
        '    """The file in `changes/` comes last: with that, the segment is converted."""\n',
        "    put(files, part_name(CHANGES, segment), tables.changes)\n",
    ),
    Mutant(
        "the last segment is converted while it grows",
        f"{ROOM}/dataset/parquet.py",
        "todo = [header.segment for header in found[:-1] if",
        "todo = [header.segment for header in found if",
    ),
    Mutant("two convert at a time", f"{ROOM}/dataset/parquet.py", "with archive.converting(files):", "if True:"),
    Mutant(
        "a segment that is missing is passed over",
        f"{ROOM}/dataset/past.py",
        "if one != before + 1:",
        "if False:",
    ),
    Mutant(
        "retention does not care for the data set",
        f"{ROOM}/dataset/archive.py",
        "return match is not None and is_converted(self._files, int(match[1]))",
        "return True",
    ),
    Mutant(
        "sealed segments are not converted though that is wanted",
        f"{ROOM}/recovery/upkeep.py",
        "        if self._sealed is not None:\n            self._sealed()\n",
        "",
    ),
    Mutant(
        "payloads are left out",
        f"{ROOM}/dataset/tables.py",
        "id=ids,\n            payload=",
        "id=ids,\n            kind=",
    ),
    Mutant(
        "a signal's own time is lost",
        f"{ROOM}/dataset/tables.py",
        "at=None if ats is None else [stamp if at is None else at for at in ats]",
        "at=None",
    ),
    # What the law is given
    Mutant(
        "deadlines that have passed are moved",
        f"{ROOM}/dataset/waits.py",
        "chosen[change.stamp <= self.deadline[chosen]]",
        "chosen",
    ),
    Mutant(
        "what was opened later is moved",
        f"{ROOM}/dataset/waits.py",
        "(self.position[chosen] < change.position) & (change.position < self.told_in[chosen])",
        "change.position < self.told_in[chosen]",
    ),
    Mutant(
        "signals from before the opening count",
        f"{ROOM}/dataset/particular.py",
        "if signals.position[row] > opened_in\n",
        "if True\n",
    ),
    Mutant(
        "what was remembered does not count",
        f"{ROOM}/dataset/particular.py",
        "            if events:\n                found[step] = events\n",
        "",
    ),
    Mutant(
        "a memory outlives its settings",
        f"{ROOM}/dataset/particular.py",
        "    if settings.remember_ms is None:\n        return None\n",
        "    if settings.remember_ms is None:\n        return memory\n",
    ),
    Mutant(
        "signals of a grace count as they come",
        f"{ROOM}/dataset/changes.py",
        "counted[(position > held_since) & (position < change.position)] = change.position",
        "pass",
    ),
    Mutant(
        "who has ended hears on",
        f"{ROOM}/dataset/hearing.py",
        "        if self._ended_at is not None or event.at > last:\n",
        "        if event.at > last:\n",
    ),
    Mutant(
        "a cancellation by hand is no event",
        f"{ROOM}/dataset/hearing.py",
        '                    self.events.append(Event("", self._cancel_kind, move.stamp))\n',
        "                    pass\n",
    ),
    Mutant(
        "keep-alives are counted twice",
        f"{ROOM}/dataset/hearing.py",
        "            self.events = [event for event in self.events if event.kind != kind]\n",
        "            pass\n",
    ),
    Mutant(
        "the number 7 is the text 7",
        f"{ROOM}/dataset/history.py",
        'pc.if_else(is_number, pc.binary_join_element_wise("number", rows["source"], " "), rows["source"])',
        'rows["source"]',
    ),
    Mutant(
        "floats are read as decimals",
        f"{ROOM}/dataset/verify.py",
        "numbers = {n for n in asked.history.rules if (n in asked.rough) == is_rough} - asked.single",
        "numbers = set() if is_rough else set(asked.history.rules) - asked.single",
    ),
    # What is compared
    Mutant("times are not compared", f"{ROOM}/dataset/verify.py", " | (at != judged.at[place])", ""),
    Mutant("endings are not compared", f"{ROOM}/dataset/verify.py", "(ending != judged.ending[place]) | ", ""),
    Mutant(
        "told early is told well",
        f"{ROOM}/dataset/verify.py",
        '    is_wrong |= told_at < at + (ending == ENDINGS.index("expired"))  # told before it had happened\n',
        "",
    ),
    Mutant("told twice is told well", f"{ROOM}/dataset/verify.py", "is_wrong | (counts[inverse] > 1)", "is_wrong"),
    Mutant("gaps are not seen", f"{ROOM}/dataset/verify.py", "(np.diff(number) != 1) &", "(np.diff(number) < 0) &"),
    # From outside
    Mutant(
        "a backup has the torn tail too",
        f"{ROOM}/folder/backup.py",
        "yield segment_name(header.segment), stop.value.position.offset",
        "yield segment_name(header.segment), 10",
    ),
    Mutant(
        "damage behind the first is not looked for",
        f"{ROOM}/log/scan.py",
        "        after = _next_whole(data, view, offset + 1, name)\n",
        "        after = len(data)\n",
    ),
    Mutant(
        "what is behind the damage is lost",
        f"{ROOM}/folder/salvage.py",
        "            self._apply_behind(record.type, body)\n",
        "            pass\n",
    ),
    Mutant(
        "a mended folder gives numbers again",
        f"{ROOM}/folder/salvage.py",
        "            state.next_number = number + 1\n",
        "",
    ),
    Mutant(
        "a gap that a repair has left is waited for",
        f"{ROOM}/outcomes.py",
        "            if told and told[0].number > after + 1:\n                raise _lost(after, told[0].number - 1)\n",
        "",
    ),
]
