"""The versions of PySpark that are supported: `make sparks` tests the lowest and the newest."""

from __future__ import annotations

import re
from typing import Any

from ...errors import ConfigError

LEAST, BELOW = (4, 1), (5, 0)
"""4.0 lacks the stateful operator of streams, `transformWithState` on rows."""

SUPPORTED = f"{LEAST[0]}.{LEAST[1]} or later, below {BELOW[0]}"
UPGRADE = "pip install --upgrade 'sojourn[spark]'"


def is_supported(version: str) -> bool:
    """Whether a version such as `4.2.0` or `4.3.0.dev1` is supported."""
    parts = re.match(r"(\d+)\.(\d+)", version)
    return parts is not None and LEAST <= (int(parts[1]), int(parts[2])) < BELOW


def is_connect(spark: Any) -> bool:
    """Whether a session is a client of Spark Connect, which has no Java virtual machine of its own."""
    return getattr(spark, "_jvm", None) is None


def check_version(version: str) -> None:
    """`ConfigError` if a version of PySpark is not supported."""
    if not is_supported(version):
        raise ConfigError(f"PySpark {version} is not supported; Sojourn needs {SUPPORTED}: {UPGRADE}")
