"""The compiled passes over columns; None if the package has none, or if `SOJOURN_PURE` is set to anything but 0.

Every function that uses `core` does the same in NumPy and Arrow where that is None, as on Spark's executors when this
package is sent to them. A core that is there but cannot be loaded is an error, not a reason to be slow in silence.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .._arguments import is_set

_NAME = "sojourn.pipeline._core"
_is_plain = is_set(os.environ.get("SOJOURN_PURE")) or sys.byteorder != "little"

core: Any = None if _is_plain or find_spec(_NAME) is None else import_module(_NAME)
