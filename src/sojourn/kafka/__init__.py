"""The broker's delayed requests, working, over a replicated log in one process."""

from .cluster.admin import AdminManager, NewTopic
from .cluster.broker import Broker
from .cluster.cluster import Cluster
from .cluster.network import Network
from .cluster.replica_manager import HIGH_WATERMARK, ReplicaManager
from .error import BrokerDownError, Error
from .groups.coordinator import GroupCoordinator
from .groups.delayed_group import DelayedHeartbeat, DelayedJoin, DelayedSync, InitialDelayedJoin
from .groups.messages import GroupDescription, GroupState, JoinResponse, MemberDescription, MemberIdentity, SyncResponse
from .log import Record
from .meters import ClusterStats
from .operation_log import JsonLinesLog, MemoryLog, OperationLog, ParquetLog, Tee, open_log, read_log
from .requests.delayed_delete_records import DelayedDeleteRecords, DeleteResult
from .requests.delayed_fetch import DelayedFetch
from .requests.delayed_produce import DelayedProduce, ProduceResult
from .requests.delayed_topics import DelayedCreatePartitions, DelayedDeleteTopics, DelayedElectLeader, TopicResult
from .requests.fetch import FetchResult, Position
from .requests.request import Reply
from .rules import RULES
from .settings import Settings
from .topic import TopicPartition

__all__ = [
    "HIGH_WATERMARK",
    "RULES",
    "AdminManager",
    "Broker",
    "BrokerDownError",
    "Cluster",
    "ClusterStats",
    "DelayedCreatePartitions",
    "DelayedDeleteRecords",
    "DelayedDeleteTopics",
    "DelayedElectLeader",
    "DelayedFetch",
    "DelayedHeartbeat",
    "DelayedJoin",
    "DelayedProduce",
    "DelayedSync",
    "DeleteResult",
    "Error",
    "FetchResult",
    "GroupCoordinator",
    "GroupDescription",
    "GroupState",
    "InitialDelayedJoin",
    "JoinResponse",
    "JsonLinesLog",
    "MemberDescription",
    "MemberIdentity",
    "MemoryLog",
    "Network",
    "NewTopic",
    "OperationLog",
    "ParquetLog",
    "Position",
    "ProduceResult",
    "Record",
    "ReplicaManager",
    "Reply",
    "Settings",
    "SyncResponse",
    "Tee",
    "TopicPartition",
    "TopicResult",
    "open_log",
    "read_log",
]
