"""The broker's delayed requests, working, over a replicated log in one process."""

from .cluster.admin import AdminManager as AdminManager
from .cluster.admin import NewTopic as NewTopic
from .cluster.broker import Broker as Broker
from .cluster.cluster import Cluster as Cluster
from .cluster.network import Network as Network
from .cluster.replica_manager import HIGH_WATERMARK as HIGH_WATERMARK
from .cluster.replica_manager import ReplicaManager as ReplicaManager
from .error import BrokerDownError as BrokerDownError
from .error import Error as Error
from .groups.coordinator import GroupCoordinator as GroupCoordinator
from .groups.delayed_group import DelayedHeartbeat as DelayedHeartbeat
from .groups.delayed_group import DelayedJoin as DelayedJoin
from .groups.delayed_group import DelayedSync as DelayedSync
from .groups.delayed_group import InitialDelayedJoin as InitialDelayedJoin
from .groups.messages import GroupDescription as GroupDescription
from .groups.messages import GroupState as GroupState
from .groups.messages import JoinResponse as JoinResponse
from .groups.messages import MemberDescription as MemberDescription
from .groups.messages import MemberIdentity as MemberIdentity
from .groups.messages import SyncResponse as SyncResponse
from .log import Record as Record
from .meters import ClusterStats as ClusterStats
from .operation_log import JsonLinesLog as JsonLinesLog
from .operation_log import MemoryLog as MemoryLog
from .operation_log import OperationLog as OperationLog
from .operation_log import ParquetLog as ParquetLog
from .operation_log import Tee as Tee
from .operation_log import open_log as open_log
from .operation_log import read_log as read_log
from .requests.delayed_delete_records import DelayedDeleteRecords as DelayedDeleteRecords
from .requests.delayed_delete_records import DeleteResult as DeleteResult
from .requests.delayed_fetch import DelayedFetch as DelayedFetch
from .requests.delayed_produce import DelayedProduce as DelayedProduce
from .requests.delayed_produce import ProduceResult as ProduceResult
from .requests.delayed_topics import DelayedCreatePartitions as DelayedCreatePartitions
from .requests.delayed_topics import DelayedDeleteTopics as DelayedDeleteTopics
from .requests.delayed_topics import DelayedElectLeader as DelayedElectLeader
from .requests.delayed_topics import TopicResult as TopicResult
from .requests.fetch import FetchResult as FetchResult
from .requests.fetch import Position as Position
from .requests.request import Reply as Reply
from .rules import RULES as RULES
from .settings import Settings as Settings
from .topic import TopicPartition as TopicPartition

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
