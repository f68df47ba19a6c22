"""Topics: what they may be called, how they may be set, and the name of one partition."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from ..errors import ConfigError

LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class TopicPartition(NamedTuple):
    """A plain `(topic, partition)` does as well: the two are equal."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Name = TypeVar("Name", bound=tuple[str, int])
"""Of a partition: a `TopicPartition`, or a plain pair."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The settings of a topic that this model knows."""

    min_insync: int = 1
    unclean_election: bool = False
    """Whether a replica that is not in sync may lead when no other can: acknowledged records may be lost then."""
    max_message_bytes: int = 1_048_588


KAFKA_NAMES = {
    "min.insync.replicas": "min_insync",
    "unclean.leader.election.enable": "unclean_election",
    "max.message.bytes": "max_message_bytes",
}


def topic_config(settings: Mapping[str, Any]) -> TopicConfig:
    """The settings under Kafka's names, checked; `ConfigError` names the one at fault."""
    chosen: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in KAFKA_NAMES:
            raise ConfigError(f"setting {name!r} is not known; there are {', '.join(KAFKA_NAMES)}")
        chosen[KAFKA_NAMES[name]] = _boolean(name, value) if name.endswith("enable") else _positive(name, value)
    return TopicConfig(**chosen)


def _boolean(name: str, value: object) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ConfigError(f"{name}={value!r} is neither true nor false")
    return str(value).lower() == "true"


def _positive(name: str, value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"{name}={value!r} is not a whole number of at least 1")
    return number


def name_fault(name: str, others: Iterable[str]) -> str | None:
    """Why no topic can be called so; None if one can.

    As in Kafka, two names that differ only in `.` and `_` collide: metrics would not tell them apart.
    """
    if not LEGAL_NAME.fullmatch(name) or name in (".", ".."):
        return f"topic name {name!r} is not 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-', or is '.' or '..'"
    for other in others:
        if other != name and other.replace(".", "_") == name.replace(".", "_"):
            return f"topic name {name!r} collides with {other!r}: they differ in '.' and '_' only"
    return None
