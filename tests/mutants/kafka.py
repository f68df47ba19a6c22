"""Bugs for the broker's requests: replication, the delayed requests, topics, groups, and what is reported of them."""

from __future__ import annotations

from .mutant import Mutant

ROOM = "src/sojourn/kafka"

MUTANTS = [
    # Replication
    Mutant("high watermark ignores a wish", f"{ROOM}/cluster/leadership.py", "self.isr if self.pending is None else self.isr | self.pending", "self.isr"),
    Mutant("high watermark ignores those about to join", f"{ROOM}/cluster/leadership.py", "broker in heeded or (broker in live and now - follower.caught_up_ms <= lag_ms)", "broker in heeded"),
    Mutant("a follower joins with less than is committed", f"{ROOM}/cluster/leadership.py", "follower.end_offset >= max(high_watermark, self.epoch_start)", "follower.end_offset >= self.epoch_start"),
    Mutant("a follower joins without this epoch's start", f"{ROOM}/cluster/leadership.py", "follower.end_offset >= max(high_watermark, self.epoch_start)", "follower.end_offset >= high_watermark"),
    Mutant("one that does not fetch joins", f"{ROOM}/cluster/leadership.py", "            and fetched_ms >= since_ms\n", ""),
    Mutant("a busy follower never catches up", f"{ROOM}/cluster/leadership.py", "self.caught_up_ms = max(self.caught_up_ms, self._fetched_ms)", "pass"),
    Mutant("an old decision counts", f"{ROOM}/cluster/leadership.py", "if state.partition_epoch > self.partition_epoch:", "if True:"),
    Mutant("logs that part are not truncated", f"{ROOM}/cluster/replica.py", "            self._truncate(result.diverging)\n", "            pass\n"),
    Mutant("logs that part are not noticed", f"{ROOM}/cluster/replica.py", "        return end\n\n    def readable_end", "        return None\n\n    def readable_end"),
    Mutant("any epoch may read", f"{ROOM}/cluster/replica.py", "if position.leader_epoch is not None and position.leader_epoch != self.leader_epoch:", "if False:"),
    Mutant("consumers read to the end", f"{ROOM}/cluster/replica.py", "return self.log.end_offset if is_replica else self.high_watermark", "return self.log.end_offset"),
    Mutant("followers do not learn the high watermark", f"{ROOM}/cluster/replica.py", "            and position.high_watermark >= self.high_watermark\n", ""),
    Mutant("followers do not learn the start", f"{ROOM}/cluster/replica.py", "            and position.start_offset >= self.log.start_offset\n", ""),
    Mutant("idle followers lag", f"{ROOM}/cluster/replication.py", "follower.caught_up_ms = max(follower.caught_up_ms, follower.session.fetched_ms)", "pass"),
    Mutant("followers of a former lead hear nothing", f"{ROOM}/cluster/replica_manager.py", "self.replication.interrupt(partition, sessions)", "pass"),
    Mutant("a leader that restarted answers without a session", f"{ROOM}/cluster/fetcher.py", "        if results is None:\n            self._is_full = True\n", ""),
    Mutant("a lost fetch is not followed by a full one", f"{ROOM}/cluster/fetcher.py", "    def _lost(self) -> None:\n        self._is_full = True\n", "    def _lost(self) -> None:\n"),
    Mutant("partitions in error are never fetched again", f"{ROOM}/cluster/fetcher.py", "self._engine.now_ms() + self._settings.replica_fetch_backoff_ms", "10**12"),
    Mutant("what was sent to an earlier incarnation counts", f"{ROOM}/cluster/broker.py", "if not self.is_up or incarnation != self.incarnation:", "if not self.is_up:"),
    Mutant("a dead broker answers", f"{ROOM}/cluster/broker.py", "if request is None or not request.is_cancelled:", "if True:"),
    # The controller
    Mutant("anybody may lead", f"{ROOM}/cluster/controller.py", "in_sync or (live if config.unclean_election else [])", "live"),
    Mutant("an unclean election is never held", f"{ROOM}/cluster/controller.py", "in_sync or (live if config.unclean_election else [])", "in_sync"),
    Mutant("the last one in sync is dropped", f"{ROOM}/cluster/controller.py", "isr = tuple(replica for replica in state.isr if replica != broker) or state.isr", "isr = tuple(replica for replica in state.isr if replica != broker) or state.replicas"),
    Mutant("a dead broker stays in sync", f"{ROOM}/cluster/controller.py", "isr = tuple(replica for replica in state.isr if replica != broker) or state.isr", "isr = state.isr"),
    Mutant("a refusal does not void its copies", f"{ROOM}/cluster/controller.py", "decided = state._replace(isr=isr, partition_epoch=state.partition_epoch + 1)", "decided = state._replace(isr=isr, partition_epoch=state.partition_epoch + (isr != state.isr))"),
    Mutant("the dead are wished in sync", f"{ROOM}/cluster/controller.py", "wish.isr if self.live.issuperset(wish.isr) else state.isr", "wish.isr"),
    Mutant("a new incarnation goes on leading", f"{ROOM}/cluster/controller.py", "            self._incarnations[broker] = incarnation\n            self._fence(broker)\n", "            self._incarnations[broker] = incarnation\n"),
    Mutant("heartbeats bring nothing", f"{ROOM}/cluster/controller.py", "elif offset < len(self.changes):", "elif False:"),
    # Produce, fetch, delete
    Mutant("acks=all does not mind min.insync", f"{ROOM}/cluster/replica_manager.py", 'if acks == "all" and len(replica.lead.isr) < config.min_insync:', "if False:"),
    Mutant("nor after the append", f"{ROOM}/cluster/replica_manager.py", "is_enough = len(replica.lead.isr) >= self._config(partition).min_insync", "is_enough = True"),
    Mutant("acknowledged one too early", f"{ROOM}/cluster/replica_manager.py", "if replica.high_watermark < end_offset:", "if replica.high_watermark < end_offset - 1:"),
    Mutant("all partitions time out together", f"{ROOM}/requests/delayed_produce.py", "for part in self.pending}", "for part in self._results}"),
    Mutant("min bytes are more than min", f"{ROOM}/requests/delayed_fetch.py", "return total >= self._min_bytes", "return total > self._min_bytes"),
    Mutant("an error does not end the wait", f"{ROOM}/requests/delayed_fetch.py", "                    return True\n", "                    continue\n"),
    Mutant("max bytes bound each partition alone", f"{ROOM}/requests/delayed_fetch.py", "room = max(0, room - sum(len(record.value) for record in result.records))", "pass"),
    Mutant("the dead hold the low watermark", f"{ROOM}/cluster/leadership.py", "for broker, follower in self.followers.items() if broker in live]", "for broker, follower in self.followers.items()]"),
    Mutant("what is not committed is deleted", f"{ROOM}/cluster/replica_manager.py", "if not 0 <= start <= replica.high_watermark:", "if not 0 <= start:"),
    Mutant("cut off without an answer", f"{ROOM}/requests/request.py", "    def on_cancellation(self) -> None:\n        self._end()\n", "    def on_cancellation(self) -> None:\n        pass\n"),
    # Topics
    Mutant("known by one is known everywhere", f"{ROOM}/cluster/controller.py", "return all(self.known.get(broker, 0) >= offset for broker in self.live)", "return any(self.known.get(broker, 0) >= offset for broker in self.live)"),
    Mutant("a leader is not needed", f"{ROOM}/requests/delayed_topics.py", "return state.leader is not None and self", "return self"),
    Mutant("a validation is charged", f"{ROOM}/cluster/admin.py", "        if not is_free:\n", "        if True:\n"),
    Mutant("the quota refills beyond its burst", f"{ROOM}/cluster/quota.py", "min(self._most, self._tokens + self._rate * (now - self._filled_ms))", "self._tokens + self._rate * (now - self._filled_ms)"),
    Mutant("an election may take one that is not in sync", f"{ROOM}/cluster/admin.py", "preferred in live and preferred in state.isr", "preferred in live"),
    # Groups
    Mutant("the initial delay is never extended", f"{ROOM}/groups/delayed_group.py", "if self._group.has_newcomer and self._remaining_ms > 0:", "if False:"),
    Mutant("the initial delay has no end", f"{ROOM}/groups/rebalance.py", "remaining_ms - delay_ms))", "remaining_ms))"),
    Mutant("the missing stay", f"{ROOM}/groups/rebalance.py", "            if member.instance_id is None:\n                self._remove(group, member)\n", "            pass\n"),
    Mutant("static members are dropped too", f"{ROOM}/groups/rebalance.py", "            if member.instance_id is None:\n                self._remove(group, member)\n", "            self._remove(group, member)\n"),
    Mutant("a generation comes twice", f"{ROOM}/groups/rebalance.py", "        group.generation += 1\n        if not joined:", "        group.generation += bool(group.generation % 2 == 0)\n        if not joined:"),
    Mutant("a heartbeat does nothing", f"{ROOM}/groups/coordinator.py", "                session.beat()\n", "                pass\n"),
    Mutant("the session goes on while the member waits", f"{ROOM}/groups/rebalance.py", "        if not member.is_new:\n            self._stop_session(member)\n", "        if not member.is_new:\n            pass\n"),
    Mutant("a new member waits for ever", f"{ROOM}/groups/rebalance.py", "self._start_session(group, member, self.settings.group_new_member_join_ms)", "pass"),
    Mutant("a new member gains time by asking again", f"{ROOM}/groups/rebalance.py", "        elif member.session is None:", "        else:"),
    Mutant("once new, always new", f"{ROOM}/groups/rebalance.py", 'member.has_synced, member.assignment, member.is_new = False, b"", False', 'member.has_synced, member.assignment = False, b""'),
    Mutant("one that joins again keeps its timeouts", f"{ROOM}/groups/group.py", "        self.protocols = request.protocols\n        self.session_ms = request.session_ms\n", "        self.protocols = request.protocols\n        self.session_ms = getattr(self, \"session_ms\", request.session_ms)\n"),
    Mutant("an unknown instance may be named", f"{ROOM}/groups/group.py", "            if static is None:\n                return Error.UNKNOWN_MEMBER_ID\n            if static.id != member_id:", "            if static is not None and static.id != member_id:"),
    Mutant("a static member that did not join has its old session", f"{ROOM}/groups/rebalance.py", "        self._start_session(group, member, member.session_ms)\n        if member.joining is not None:", "        if member.joining is not None:\n            self._start_session(group, member, member.session_ms)"),
    Mutant("who does not sync stays", f"{ROOM}/groups/delayed_group.py", "self._rebalancer.drop(self._group, list(self.pending))", "pass"),
    Mutant("a rebalance leaves those who sync waiting", f"{ROOM}/groups/rebalance.py", "                self._answer_sync(group, member, Error.REBALANCE_IN_PROGRESS)\n        if was_empty:", "                pass\n        if was_empty:"),
    # What is reported
    Mutant("shares do not add up", f"{ROOM}/requests/request.py", "share if i else WHOLE - share * (len(names) - 1)", "share"),
    Mutant("heartbeats are not reported", f"{ROOM}/groups/delayed_group.py", 'self.report("heartbeat", self._member.id)', "pass"),
    Mutant("callbacks run inside the turn", f"{ROOM}/turns.py", "        self._lock.release()\n        if is_over and self._actions:\n            self._act()\n", "        if is_over and self._actions:\n            self._act()\n        self._lock.release()\n"),
    Mutant("a link does not keep its order", f"{ROOM}/cluster/network.py", "max(now + latency_ms, self._free_at.get(link, 0))", "now + latency_ms"),
]  # fmt: skip
