"""The build of the checksum and of gates that goes with the timer's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..timer import IMPLEMENTATION

if TYPE_CHECKING or IMPLEMENTATION == "pure":
    from ._crc import crc32c
    from ._gate import Gate, open_all
else:
    from ._core import Gate, crc32c, open_all

__all__ = ["Gate", "crc32c", "open_all"]
