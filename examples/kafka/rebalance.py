"""A rebalance with a member that dies: the group waits for it until its session ends, then goes on without.

python -m examples.kafka.rebalance
"""

from __future__ import annotations

from sojourn.kafka import Cluster, Error, JoinResponse, SyncResponse
from sojourn.testing import ManualClock

GROUP, SESSION_MS, BEAT_MS = "billing", 10_000, 3_000


class Member:
    """A consumer that joins, syncs and heartbeats, until it dies."""

    def __init__(self, name: str, cluster: Cluster, clock: ManualClock) -> None:
        self.name, self.groups, self.clock, self.timer = name, cluster.groups, clock, cluster.engine.timer
        self.id, self.generation, self.is_alive = "", 0, True
        self.join()

    def say(self, what: str) -> None:
        print(f"{self.clock.now_ms / 1000:6.1f} s  {self.name:<4} {what}")

    def join(self) -> None:
        reply = self.groups.join_group(GROUP, self.id, session_ms=SESSION_MS, rebalance_ms=30_000)
        reply.then(self.joined)

    def joined(self, response: JoinResponse) -> None:
        self.id, self.generation = response.member_id, response.generation
        shares = {member: b"%d of %d" % (i + 1, len(response.members)) for i, member in enumerate(response.members)}
        self.groups.sync_group(GROUP, self.generation, self.id, shares).then(self.synced)

    def synced(self, response: SyncResponse) -> None:
        self.say(f"has share {response.assignment.decode()} in generation {self.generation}")
        self.timer.schedule(BEAT_MS, self.beat)

    def beat(self) -> None:
        if not self.is_alive:
            return
        error = self.groups.heartbeat(GROUP, self.generation, self.id)
        if error is Error.REBALANCE_IN_PROGRESS:
            self.say("is asked to join again")
            self.join()
        else:
            self.timer.schedule(BEAT_MS, self.beat)

    def die(self) -> None:
        self.say("dies without a word")
        self.is_alive = False


def main() -> None:
    """Three join; one dies; the others hear of it when its session ends."""
    clock = ManualClock()
    with Cluster(brokers=3, clock=clock) as cluster:
        members = [Member(name, cluster, clock) for name in ("ann", "bob", "cem")]
        clock.advance(20_000)
        members[2].die()
        clock.advance(20_000)


if __name__ == "__main__":
    main()
