"""Members of a group for a simulated cluster: they join, sync, heartbeat, commit, and now and then die or leave."""

from __future__ import annotations

from ..cluster.cluster import Cluster
from ..error import Error
from ..groups.messages import JoinResponse, SyncResponse
from ..topic import TopicPartition
from .audit import Audit
from .clients import Client, Load

GROUP = "readers"


class GroupMember(Client):
    """Does as a consumer's client library would. Every answer it gets is followed by exactly one next step."""

    def __init__(
        self, cluster: Cluster, audit: Audit, load: Load, seed: int, *, instance_id: str | None, dies: bool
    ) -> None:
        super().__init__(cluster, audit, load, seed)
        self.every_ms = (load.session_ms // 3, load.session_ms // 3 + 1)
        self._groups = cluster.groups
        self._instance_id = instance_id
        self._dies = dies
        self._id = ""
        self._generation = 0

    def start(self) -> None:
        self.engine.schedule(self.random.randint(0, self.load.session_ms), self._join)

    def step(self) -> None:
        """A heartbeat, or a commit instead; or, if the member may die, its end for a while."""
        if self._dies and self.random.random() < 0.02:
            self._die()
            return
        error = self._commit() if self.random.random() < 0.2 else self._heartbeat()
        if error.is_ok:
            self._again()
        else:
            self._rejoin(error)

    def _heartbeat(self) -> Error:
        return self._groups.heartbeat(GROUP, self._generation, self._id, instance_id=self._instance_id)

    def _commit(self) -> Error:
        offsets = {TopicPartition("orders", self.random.randint(0, 2)): self.random.randint(0, 1_000)}
        error = self._groups.commit_offsets(GROUP, offsets, self._generation, self._id, instance_id=self._instance_id)
        if error.is_ok:
            self.audit.committed(GROUP, offsets)
        return error

    def _die(self) -> None:
        """With or without a word; back later, without its id."""
        if self.random.random() < 0.5:
            self._groups.leave_group(GROUP, self._id, instance_id=self._instance_id)
        self._id = ""
        self.engine.schedule(self.random.randint(1, 3 * self.load.session_ms), self._join)

    def _join(self) -> None:
        if not self.is_stopped:
            reply = self._groups.join_group(
                GROUP,
                self._id,
                instance_id=self._instance_id,
                session_ms=self.load.session_ms,
                rebalance_ms=self.load.rebalance_ms,
            )
            reply.then(self._joined)

    def _joined(self, response: JoinResponse) -> None:
        with self.engine.turns:
            if not response.error.is_ok:
                self._rejoin(response.error)
                return
            self.audit.joined(GROUP, response, self._generation)
            self._id, self._generation = response.member_id, response.generation
            assignments = {member: member.encode() for member in response.members}
            reply = self._groups.sync_group(
                GROUP, self._generation, self._id, assignments, instance_id=self._instance_id
            )
            reply.then(self._synced)

    def _synced(self, response: SyncResponse) -> None:
        with self.engine.turns:
            if response.error.is_ok:
                self._again()
            else:
                self._rejoin(response.error)

    def _rejoin(self, error: Error) -> None:
        """Join again, as whoever the error leaves us."""
        if error in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID, Error.GROUP_MAX_SIZE_REACHED):
            self._id = ""
        if not self.is_stopped:
            self.engine.schedule(self.random.randint(1, max(1, self.load.session_ms // 10)), self._join)
