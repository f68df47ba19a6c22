from __future__ import annotations

import pytest

from sojourn.kafka.log import EpochEnd, Log, Record


def log_of(*epochs: int) -> Log:
    """A log with one record of three bytes for each epoch named."""
    log = Log()
    for i, epoch in enumerate(epochs):
        log.append([b"r%02d" % i], epoch)
    return log


def offsets(records: list[Record]) -> list[int]:
    return [record.offset for record in records]


def test_records_get_the_offsets_that_follow_on() -> None:
    log = Log()
    assert (log.append([b"a", b"b"], 0), log.append([b"c"], 0), log.end_offset) == (0, 2, 3)
    assert log[2] == Record(2, b"c", 0)


def test_an_offset_that_is_not_held_is_an_error() -> None:
    log = log_of(0, 0)
    log.delete_before(1)
    for offset in (0, 2):
        with pytest.raises(IndexError, match=rf"offset {offset} is not in 1 to before 2"):
            log[offset]


def test_a_read_stays_within_its_end_and_its_bytes() -> None:
    log = log_of(0, 0, 0, 0)
    assert offsets(log.read(1, 3, 100, at_least_one=False)) == [1, 2]
    assert offsets(log.read(0, 4, 6, at_least_one=False)) == [0, 1]
    assert offsets(log.read(0, 4, 5, at_least_one=False)) == [0]
    assert offsets(log.read(4, 4, 5, at_least_one=True)) == []


def test_a_read_gives_one_record_however_large_only_if_asked() -> None:
    log = log_of(0, 0)
    assert offsets(log.read(0, 2, 2, at_least_one=True)) == [0]
    assert offsets(log.read(0, 2, 2, at_least_one=False)) == []


def test_bytes_are_counted_between_any_two_offsets_and_an_empty_record_is_one() -> None:
    log = Log()
    log.append([b"abc", b"", b"de"], 0)
    log.delete_before(1)
    assert [log.bytes_between(first, 3) for first in (1, 2, 3)] == [3, 2, 0]


def test_truncating_drops_the_end_and_its_epochs() -> None:
    log = log_of(0, 0, 2, 2)
    log.truncate_to(2)
    assert (log.end_offset, log.last_epoch) == (2, 0)
    log.append([b"other"], 3)
    assert (log[2].value, log.last_epoch, log.bytes_between(0, 3)) == (b"other", 3, 11)


def test_truncating_to_before_the_start_begins_anew_there() -> None:
    log = log_of(0, 0, 0)
    log.delete_before(2)
    log.truncate_to(1)
    assert (log.start_offset, log.end_offset, log.last_epoch) == (1, 1, None)


def test_deleting_keeps_the_offsets_of_the_rest() -> None:
    log = log_of(0, 1, 1)
    log.delete_before(2)
    assert (log.start_offset, log.end_offset, log[2].value) == (2, 3, b"r02")


@pytest.mark.parametrize(
    ("epoch", "end"),
    [
        (0, EpochEnd(0, 2)),
        (1, EpochEnd(0, 2)),
        (2, EpochEnd(2, 3)),
        (3, EpochEnd(2, 3)),
        (4, EpochEnd(4, 5)),
        (5, None),
    ],
)
def test_the_end_of_an_epoch_is_where_the_next_begins(epoch: int, end: EpochEnd | None) -> None:
    assert log_of(0, 0, 2, 4, 4).end_of(epoch) == end


def test_an_epoch_before_all_ends_where_the_first_begins() -> None:
    log = Log()
    log.restart_at(7)
    log.append([b"x"], 3)
    assert log.end_of(1) == EpochEnd(1, 7)


def test_an_empty_log_knows_no_epoch() -> None:
    assert (Log().end_of(0), Log().last_epoch) == (None, None)
