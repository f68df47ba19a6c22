"""CRC-32C (Castagnoli) in plain Python, by table. `_core.pyx` is the same, in C."""

from __future__ import annotations

POLYNOMIAL = 0x82F63B78
"""Reflected."""


def _row(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


TABLE = tuple(map(_row, range(256)))


def crc32c(data: bytes | memoryview, crc: int = 0) -> int:
    """The checksum of `data`; of what follows data whose checksum is `crc`, the checksum of both."""
    crc ^= 0xFFFFFFFF
    table = TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
