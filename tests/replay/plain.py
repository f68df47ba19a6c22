"""Tallies as plain lists, to be compared."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sojourn.pipeline.results.named import Named


def plain(part: Any) -> Any:
    """Equal exactly if tallies are, arrays too."""
    if isinstance(part, Named):
        return [list(part.items()), plain(part._spells)]
    if is_dataclass(part):
        return [plain(getattr(part, field.name)) for field in fields(part)]
    if isinstance(part, dict):
        return {name: plain(value) for name, value in part.items()}
    if isinstance(part, np.ndarray):
        return part.tolist()
    if isinstance(part, pa.Table):
        return part.to_pylist()
    return [plain(one) for one in part] if isinstance(part, tuple) else part
