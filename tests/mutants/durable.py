"""Bugs for the durable hub: the log, recovery, numbers, ids, time, and a disk that fails."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/durable"

MUTANTS = [
    Mutant("what was to wake a closed hub keeps it", f"{ROOM}/engine.py", "            self._nap.end()\n", ""),
    # The log
    Mutant(
        "answered before the sync",
        f"{ROOM}/log/writer.py",
        '            self._file.write(data)\n            if self._sync == "always":\n                self._file.sync()\n',
        "            self._file.write(data)\n",
    ),
    Mutant(
        "a new segment is not synced",
        f"{ROOM}/log/writer.py",
        "                file.write(data)\n                file.sync()\n",
        "                file.write(data)\n",
    ),
    Mutant(
        "the name of a new segment is not synced",
        f"{ROOM}/log/writer.py",
        "                file.sync()\n                self.files.sync_folder()\n",
        "                file.sync()\n",
    ),
    Mutant(
        "the old segment is not synced before the next",
        f"{ROOM}/log/writer.py",
        "if self._file is not None and self._synced < self.position.offset:",
        'if self._file is not None and self._sync == "none":',
    ),
    Mutant(
        "a failed write is followed by another into the same file",
        f"{ROOM}/engine.py",
        "        if self.log.failure is not None:\n            self.log.start_segment",
        "        if False:\n            self.log.start_segment",
    ),
    Mutant(
        "what failed counts in the running hub",
        f"{ROOM}/engine.py",
        "self._is_stale = self._is_stale or bool(self._group)",
        "pass",
    ),
    Mutant(
        "the state is built anew beyond what was answered",
        f"{ROOM}/engine.py",
        "recover(self.files, self._owner, known, self.log.position, ",
        "recover(self.files, self._owner, known, None, ",
    ),
    Mutant("waits that people hold are lost when the disk fails", f"{ROOM}/engine.py", "**self._revoked}", "}"),
    Mutant(
        "the checksum is not looked at",
        f"{ROOM}/log/records.py",
        "if crc == CRC.unpack_from(view, offset + HEADER.size)[0] else None",
        "",
    ),
    Mutant(
        "the checksum leaves out the header",
        f"{ROOM}/log/records.py",
        "crc32c(body, crc32c(header))",
        "crc32c(body, crc32c(bytes(16)))",
    ),
    Mutant(
        "damage is taken for a torn tail",
        f"{ROOM}/log/segments.py",
        "if end is not None or was_synced(data, broken.offset):",
        "if False:",
    ),
    Mutant(
        "a torn tail is taken for damage",
        f"{ROOM}/log/segments.py",
        "if end is not None or was_synced(data, broken.offset):",
        "if True:",
    ),
    Mutant(
        "what is behind the end of a segment counts",
        f"{ROOM}/log/segments.py",
        "end = found[i + 1].previous_end if i + 1 < len(found) else last_end",
        "end = last_end",
    ),
    Mutant(
        "a missing segment is not noticed",
        f"{ROOM}/log/segments.py",
        "(found and number != found[-1].segment + 1)",
        "False",
    ),
    Mutant(
        "the tail is cut too far",
        f"{ROOM}/log/segments.py",
        "        reached = broken.offset\n",
        "        reached = offset\n",
    ),
    # Snapshots and retention
    Mutant(
        "a snapshot ahead of its log",
        f"{ROOM}/recovery/upkeep.py",
        "recover(self._files, until=start, index",
        "recover(self._files, index",
    ),
    Mutant(
        "a snapshot forgets the untold",
        f"{ROOM}/recovery/snapshot.py",
        "    yield from _small_parts(state, _rows(state, state.untold, False))\n",
        "    yield from _small_parts(state, iter(()))\n",
    ),
    Mutant(
        "a snapshot forgets the evidence", f"{ROOM}/index/rows.py", "    if progress is not None:\n", "    if False:\n"
    ),
    Mutant(
        "a snapshot forgets what cancels",
        f"{ROOM}/index/rows.py",
        "wait.within_ms, wait._cancelled_at = opened_at, deadline, within_ms, cancelled_at",
        "wait.within_ms, wait._cancelled_at = opened_at, deadline, within_ms, None",
    ),
    Mutant(
        "a snapshot forgets the ids of signals",
        f"{ROOM}/recovery/snapshot.py",
        "        state.know_signal(given_id, stamp)\n",
        "        pass\n",
    ),
    Mutant(
        "half a snapshot will do",
        f"{ROOM}/recovery/snapshot.py",
        "    if type_ != r.SNAPSHOT_END:\n",
        "    if False:\n",
    ),
    Mutant(
        "segments go before two snapshots have them",
        f"{ROOM}/recovery/upkeep.py",
        "if header.segment >= before or not",
        "if not",
    ),
    # Numbers, ids, the law
    Mutant(
        "a number is given twice",
        f"{ROOM}/state/state.py",
        "            self.next_number += 1\n",
        "            self.next_number += len(told) != 1\n",
    ),
    Mutant(
        "a number is left out",
        f"{ROOM}/state/state.py",
        "        if first_number != self.next_number:\n",
        "        self.next_number = max(first_number, self.next_number)\n        if False:\n",
    ),
    Mutant(
        "an id is known for ever",
        f"{ROOM}/state/state.py",
        "if ended[0]._ended_at >= oldest and len(ended) <= self.settings.ids_most:",
        "if True:",
    ),
    Mutant(
        "an id is forgotten at once",
        f"{ROOM}/state/state.py",
        "if ended[0]._ended_at >= oldest and len(ended) <= self.settings.ids_most:",
        "if False:",
    ),
    Mutant(
        "a signal with a known id counts",
        f"{ROOM}/verbs.py",
        "(given not in known and given not in seen)",
        "given not in seen",
    ),
    Mutant("any wait may have a known id", f"{ROOM}/verbs.py", "                self._check_same(wait, i)\n", ""),
    Mutant(
        "what is over is told too early",
        f"{ROOM}/state/roster.py",
        "if first is None or first >= now_ms:",
        "if first is None or first > now_ms:",
    ),
    Mutant("an overdue wait is cancelled", f"{ROOM}/state/state.py", "if stamp > last_instant(wait):", "if False:"),
    Mutant(
        "an overdue wait is extended",
        f"{ROOM}/state/roster.py",
        "return wait._cancelled_at is None and stamp <= wait.deadline",
        "return wait._cancelled_at is None",
    ),
    # Time
    Mutant(
        "stamps run back after a restart", f"{ROOM}/stamps.py", "start_ms = max(wall_ms, last_ms)", "start_ms = wall_ms"
    ),
    Mutant(
        "any jump is followed",
        f"{ROOM}/stamps.py",
        "is_followed = 0 < ahead_ms <= self._max_step_ms",
        "is_followed = 0 < ahead_ms",
    ),
    Mutant(
        "a clock set back is followed",
        f"{ROOM}/stamps.py",
        "is_followed = 0 < ahead_ms <= self._max_step_ms",
        "is_followed = ahead_ms <= self._max_step_ms",
    ),
    Mutant(
        "the grace is ignored",
        f"{ROOM}/state/roster.py",
        "while self.grace_until is None and len(ended) < most:",
        "while len(ended) < most:",
    ),
    Mutant(
        "signals of the grace count as they come",
        f"{ROOM}/state/state.py",
        "held, self.held = sorted(self.held, key=lambda signal: signal[0]), []",
        "held, self.held = self.held, []",
    ),
    Mutant(
        "a full disk is never tried again",
        f"{ROOM}/engine.py",
        "return max(due, self.now_ms() + RETRY_MS) if due is not None and self._is_failing else due",
        "return None if self._is_failing else due",
    ),
    # Who leads
    Mutant(
        "a group is taken to know of requests that are still in the queue",
        f"{ROOM}/commit.py",
        "self._queue[0].stamp if self._queue else self._now_ms()",
        "self._now_ms()",
    ),
    Mutant(
        "the lead is handed to one that has gone",
        f"{ROOM}/commit.py",
        "return self.gate is not None and not self.is_abandoned",
        "return self.gate is not None",
    ),
    Mutant(
        "an interrupted leader keeps the lead",
        f"{ROOM}/commit.py",
        "        except BaseException:\n            self._hand_on(is_leaving=True)\n            raise\n",
        "        except BaseException:\n            raise\n",
    ),
    Mutant(
        "a leader that is interrupted keeps the lead of requests that nobody else can lead",
        f"{ROOM}/commit.py",
        "self._is_led = bool(self._queue) and not is_leaving",
        "self._is_led = bool(self._queue)",
    ),
    # What cannot be stored, and what is the same
    Mutant(
        "payloads that are equal in Python only are the same",
        f"{ROOM}/door.py",
        "return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)",
        "return bool(one == other)",
    ),
    Mutant(
        "keys of payloads become texts",
        f"{ROOM}/door.py",
        "    if copy != payload:  # nearly",
        "    if False:  # nearly",
    ),
    # What many ask for at the same time
    Mutant(
        "waits of different times become one record",
        f"{ROOM}/engine.py",
        "return None if alike is None else (request.stamp, alike)",
        "return None if alike is None else (0, alike)",
    ),
    Mutant(
        "waits that failed once they were open are opened again",
        f"{ROOM}/engine.py",
        "            self._is_stale |= self.state.next_seq != next_seq\n",
        "",
    ),
    Mutant(
        "one wait that is refused takes others along",
        f"{ROOM}/engine.py",
        "            if alike is None or len(requests) == 1 or not self._perform_together(requests):\n",
        "            if alike is None or len(requests) == 1 or self._perform_together(requests) is None:\n",
    ),
    # What a crash leaves
    Mutant(
        "what a dead process wrote is relied upon before it is synced",
        f"{ROOM}/log/writer.py",
        "if self._file is None and self.position.offset:",
        "if False:",
    ),
    Mutant(
        "segments go without a sync in between",
        f"{ROOM}/recovery/upkeep.py",
        "            self._files.sync_folder()  # one by one: a gap would be taken for damage\n",
        "",
    ),
    Mutant(
        "a snapshot of a segment that was not started counts",
        f"{ROOM}/log/writer.py",
        "for name in (snapshot_name(number), segment_name(number)):",
        "for name in (segment_name(number),):",
    ),
    Mutant(
        "a reader believes what its owner failed to write",
        f"{ROOM}/reader.py",
        "return all(header.segment != segment + 1 or header.previous_end >= offset for header in found)",
        "return True",
    ),
    Mutant(
        "a reader goes on in a segment that was made anew",
        f"{ROOM}/reader.py",
        "if before.last is None or before.last not in found:",
        "if before.last is None or before.last.segment < found[0].segment:",
    ),
    Mutant(
        "a draft of a snapshot stays on a full disk",
        f"{ROOM}/recovery/snapshot.py",
        "        files.remove(draft)  # the disk may be full\n",
        "",
    ),
    Mutant(
        "drafts of snapshots pile up",
        f"{ROOM}/recovery/snapshot.py",
        '        if name.startswith("snapshot-") and name.endswith(".draft"):\n',
        "        if False:\n",
    ),
    Mutant(
        "a segment that goes while somebody reads is damage",
        f"{ROOM}/log/segments.py",
        "            if found:\n                raise\n            continue\n",
        "            raise\n",
    ),
    Mutant(
        "a record of an unknown type is let through",
        f"{ROOM}/log/records.py",
        "if version > VERSION or type_ not in KNOWN:",
        "if version > VERSION:",
    ),
    # When the disk fails, or somebody interrupts
    Mutant(
        "a failing disk is tried without pause",
        f"{ROOM}/engine.py",
        "return max(due, self.now_ms() + RETRY_MS) if due is not None and self._is_failing else due",
        "return due",
    ),
    Mutant(
        "the lock is kept by a hub that could not open",
        f"{ROOM}/log/files.py",
        "            except OSError:\n                lock.close()\n                raise\n        return lock\n",
        "            except OSError:\n                raise\n        return lock\n",
    ),
    Mutant(
        "half a record counts after an interrupt",
        f"{ROOM}/engine.py",
        "was_stale, self._is_stale = self._is_stale, True",
        "was_stale = self._is_stale",
    ),
    Mutant(
        "what was being told in an interrupt is lost",
        f"{ROOM}/engine.py",
        "        self._publish(self._told_meanwhile(known))\n",
        "",
    ),
    Mutant(
        "the group of an interrupted leader is written again",
        f"{ROOM}/engine.py",
        "            self._group, self._told = [], []  # here, not when the last one was done: that may have been interrupted\n",
        "",
    ),
    # Growth
    Mutant(
        "conditions pile up",
        f"{ROOM}/state/state.py",
        "        if not self.plan_uses[number]:\n            self._forget_plan(number)\n",
        "",
    ),
    Mutant(
        "the condition of a known id is forgotten",
        f"{ROOM}/state/state.py",
        "            if wait.given_id is None:\n                uses[wait._plan_number] += 1\n            else:\n",
        "            uses[wait._plan_number] += 1\n            if wait.given_id is not None:\n",
    ),
    Mutant(
        "a snapshot forgets who has a plan",
        f"{ROOM}/recovery/snapshot.py",
        "    state.plan_uses = Counter(dict(uses))\n",
        "",
    ),
    Mutant(
        "loops that asked for outcomes pile up",
        f"{ROOM}/outcomes.py",
        "                self._awaiting.remove(woken)\n",
        "                pass\n",
    ),
    # Ends
    Mutant(
        "those who wait for what is untold are left behind",
        f"{ROOM}/left.py",
        "self.held = {**state.waits.made(), **state.untold}",
        "self.held = {**state.waits.made()}",
    ),
    Mutant(
        "what nobody has looked at is left out when a hub is closed",
        f"{ROOM}/left.py",
        "return self.listed() if len(self.held) == self._count else self",
        "return self.listed()",
    ),
    Mutant(
        "waits come out of the folder pending that were cancelled when it was closed",
        f"{ROOM}/left.py",
        "        self.end = end\n        return self\n",
        "        return self\n",
    ),
    Mutant(
        "a forked child keeps the folder",
        f"{ROOM}/engine.py",
        "        resting_on_timers.add(self)\n",
        "        pass\n",
    ),
    Mutant(
        "a loop that is gone keeps others waiting",
        f"{ROOM}/async_hub.py",
        "        with suppress(RuntimeError):\n            loop",
        "        if True:\n            loop",
    ),
    Mutant(
        "a forked child waits for a lock that nobody holds",
        f"{ROOM}/engine.py",
        "        self.check_process()  # first: in a forked child, whoever holds the lock may not be there\n"
        "        with self._lock:\n",
        "        with self._lock:\n            self.check_process()\n",
    ),
    # Grace and clocks
    Mutant(
        "what was held is not recalled",
        f"{ROOM}/state/state.py",
        "(wait.seq < before_seq or self._recalls(wait, at))",
        "wait.seq < before_seq",
    ),
    Mutant(
        "a nap goes on by the clock as it was",
        f"{ROOM}/engine.py",
        "            self._nap.forget()  # it was planned by the clock as it was\n",
        "",
    ),
]
