"""Records and checksums: what is written is what is read, and what is not whole is noticed."""

from __future__ import annotations

from random import Random

import pytest

from sojourn.durable import _core, _crc
from sojourn.durable.log import records as r
from sojourn.errors import FormatError, NotStorableError

CRCS = pytest.mark.parametrize("crc32c", [_crc.crc32c, _core.crc32c], ids=["pure", "compiled"])


@CRCS
def test_the_checksum_is_crc_32c(crc32c) -> None:  # type: ignore[no-untyped-def]
    """The values of RFC 3720, B.4."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0


def test_both_builds_give_the_same_checksum_however_data_is_cut() -> None:
    random = Random(7)
    for size in (1, 7, 8, 9, 63, 64, 1_000, 70_000):
        data = random.randbytes(size)
        cut = random.randrange(size + 1)
        whole = _crc.crc32c(data)
        assert _core.crc32c(data) == whole
        assert _core.crc32c(data[cut:], _core.crc32c(data[:cut])) == whole
        assert _crc.crc32c(data[cut:], _crc.crc32c(data[:cut])) == whole


def test_records_are_read_as_they_were_written() -> None:
    bodies = [[1, "a"], ["é\n\0", None, 1.5, {"x": [True]}], []]
    data = b"".join(r.framed(i, r.json_bytes(body), 0) for i, body in enumerate(bodies))
    found = list(r.records(data, 0, len(data), "here"))
    assert [(record.type, r.read_body(record.body)) for record in found] == list(enumerate(bodies))
    assert found[-1].end == len(data)


def test_every_flipped_bit_is_noticed() -> None:
    data = r.framed(r.SIGNAL, r.json_bytes([1, "paid", ["k"]]), 5)
    for offset in range(len(data)):
        for bit in range(8):
            broken = bytearray(data)
            broken[offset] ^= 1 << bit
            with pytest.raises(r.Broken) as caught:
                list(r.records(bytes(broken), 0, len(broken), "here"))
            assert caught.value.offset == 0


def test_every_cut_is_noticed() -> None:
    data = r.framed(r.SIGNAL, r.json_bytes([1]), 0)
    for size in range(1, len(data)):
        with pytest.raises(r.Broken):
            list(r.records(data[:size], 0, size, "here"))


def test_a_later_record_tells_damage_from_a_torn_tail() -> None:
    first, second = r.framed(r.CLOSE, b"[1]", 0), r.framed(r.CLOSE, b"[2]", len(r.framed(r.CLOSE, b"[1]", 0)))
    assert r.was_synced(b"\0" * len(first) + second, 0)
    assert not r.was_synced(b"\0" * len(first) + r.framed(r.CLOSE, b"[2]", 0), 0)


def test_a_record_of_a_later_version_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r, "VERSION", 3)
    data = r.framed(r.CLOSE, b"[1]", 0)
    monkeypatch.setattr(r, "VERSION", 1)
    with pytest.raises(FormatError, match=r"version 3.*up to 1"):
        list(r.records(data, 0, len(data), "log-1"))


def test_a_file_of_a_later_format_is_refused_with_both_versions() -> None:
    with pytest.raises(FormatError, match=r"format 9.*up to format 1"):
        r.start_of_records(b"SOJOURN LOG 9\n", "LOG", "log-1")


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(NotStorableError, match="surrogate"):
        r.json_bytes(["a\ud800b"])
