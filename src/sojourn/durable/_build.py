"""The build of the checksum that goes with the timer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..timer import IMPLEMENTATION

if TYPE_CHECKING or IMPLEMENTATION == "pure":
    from ._crc import crc32c
else:
    from ._core import crc32c

__all__ = ["crc32c"]
