"""Arrow without pandas, for processes that have no use for it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

import pyarrow as pa


def without_pandas() -> None:
    """For a process of our own, before anything else is asked of Arrow: it is told that there is no pandas.

    Arrow looks for pandas once, as soon as it is handed a value or `pyarrow.dataset` is imported, only to tell whether
    values are pandas' own. If that is installed, it is imported, which takes longer than to read a million rows.
    `to_pandas` would still find it.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _Absent)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(_Absent)


class _Absent:
    """Finds nothing where pandas is meant, and says so to nobody else."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)
        return None
