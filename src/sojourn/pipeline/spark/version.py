"""The versions of PySpark that are supported: `make sparks` tests the lowest and the newest."""

from __future__ import annotations

import re

from ...errors import ConfigError

LEAST, BELOW = (4, 1), (5, 0)
"""4.0 lacks the stateful operator of streams, `transformWithState` on rows."""

SUPPORTED = f"{LEAST[0]}.{LEAST[1]} or later, below {BELOW[0]}"
UPGRADE = "pip install --upgrade 'sojourn[spark]'"


def is_supported(version: str) -> bool:
    """Whether `4.2.0`, or `4.3.0.dev1`, will do."""
    parts = re.match(r"(\d+)\.(\d+)", version)
    return parts is not None and LEAST <= (int(parts[1]), int(parts[2])) < BELOW


def check_version(version: str) -> None:
    """`ConfigError` if a version of PySpark will not do."""
    if not is_supported(version):
        raise ConfigError(f"PySpark {version} is not supported; Sojourn needs {SUPPORTED}: {UPGRADE}")
