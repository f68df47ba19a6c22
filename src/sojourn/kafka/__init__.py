"""The broker's delayed requests, working, over a replicated log in one process."""

from .admin import AdminManager as AdminManager
from .admin import NewTopic as NewTopic
from .broker import Broker as Broker
from .cluster import Cluster as Cluster
from .coordinator import GroupCoordinator as GroupCoordinator
from .delayed_delete_records import DelayedDeleteRecords as DelayedDeleteRecords
from .delayed_delete_records import DeleteResult as DeleteResult
from .delayed_fetch import DelayedFetch as DelayedFetch
from .delayed_group import DelayedHeartbeat as DelayedHeartbeat
from .delayed_group import DelayedJoin as DelayedJoin
from .delayed_group import DelayedSync as DelayedSync
from .delayed_group import InitialDelayedJoin as InitialDelayedJoin
from .delayed_produce import DelayedProduce as DelayedProduce
from .delayed_produce import ProduceResult as ProduceResult
from .delayed_topics import DelayedCreatePartitions as DelayedCreatePartitions
from .delayed_topics import DelayedDeleteTopics as DelayedDeleteTopics
from .delayed_topics import DelayedElectLeader as DelayedElectLeader
from .delayed_topics import TopicResult as TopicResult
from .error import BrokerDownError as BrokerDownError
from .error import Error as Error
from .fetch import FetchResult as FetchResult
from .fetch import Position as Position
from .group import JoinResponse as JoinResponse
from .group import SyncResponse as SyncResponse
from .log import Record as Record
from .network import Network as Network
from .operation_log import JsonLinesLog as JsonLinesLog
from .operation_log import MemoryLog as MemoryLog
from .operation_log import OperationLog as OperationLog
from .operation_log import ParquetLog as ParquetLog
from .operation_log import Tee as Tee
from .operation_log import open_log as open_log
from .operation_log import read_log as read_log
from .replica_manager import HIGH_WATERMARK as HIGH_WATERMARK
from .replica_manager import ReplicaManager as ReplicaManager
from .request import Reply as Reply
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
    "InitialDelayedJoin",
    "JoinResponse",
    "JsonLinesLog",
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
