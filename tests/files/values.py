"""Ways to write times, numbers and durations: in every type of Parquet, and in text.

A way is given what is meant and says what to write, and what that means then: a date has no hours, a float no cents.
Times are meant in microseconds, numbers in cents, durations in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

SECOND = 10**6
DAY = 86_400 * SECOND
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
LARGEST = 2**63 - 1
DICTIONARY = pa.dictionary(pa.int32(), pa.string())
TEXTS = (pa.string(), pa.large_string(), DICTIONARY)
BERLIN = "Europe/Berlin"


class Way(NamedTuple):
    """`kind` is the type in Parquet. What is `bad` cannot be read, what is `negative` cannot be used."""

    write: Callable[[Random, int], tuple[Any, Any]]
    kind: pa.DataType
    bad: tuple[Any, ...] = ()
    negative: tuple[Any, ...] = ()


def time_ways(unit: str) -> list[Way]:
    """For a column of times, where bare numbers are of a unit."""
    stamps = [_timestamp(size, zone) for size in PER_SECOND for zone in (None, "UTC", BERLIN)]
    dates = [Way(_dates, pa.date32()), Way(_dates_in_ms, pa.date64())]
    units = PER_SECOND if unit == "auto" else [unit]
    numbers = [way for size in units for way in (_whole(size, unit), _float(size))]
    return [*stamps, *dates, *numbers, *(text_times(unit, kind) for kind in TEXTS)]


def text_times(unit: str, kind: pa.DataType = TEXTS[0]) -> Way:
    bad = ("yesterday", "2024-02-30", "2024-03-01T25:00:00Z", "2024-03-01T12:00:00+19:00", " 2024-03-01", "1e9")
    dates = ("20240301", "20240301120000") if unit == "auto" else ()
    return Way(lambda random, micros: _text_time(random, micros, unit), kind, (*bad, *dates))


def _timestamp(unit: str, zone: str | None) -> Way:
    bad = {"s": (2**52, -(2**52)), "ms": (2**62, -LARGEST), "us": (LARGEST, -LARGEST), "ns": ()}[unit]
    return Way(lambda random, micros: _counted(micros, unit), pa.timestamp(unit, zone), bad)


def _counted(micros: int, unit: str) -> tuple[int, int]:
    per_second = PER_SECOND[unit]
    count = micros * per_second // SECOND
    return count, count * SECOND // per_second


def _dates(random: Random, micros: int) -> tuple[int, int]:
    return micros // DAY, micros // DAY * DAY


def _dates_in_ms(random: Random, micros: int) -> tuple[int, int]:
    return micros // DAY * 86_400_000, micros // DAY * DAY


def _whole(size: str, unit: str) -> Way:
    bad = (20_240_301, 20_240_301_120_000) if unit == "auto" else ()
    never = () if unit == "ns" else (LARGEST,)
    return Way(lambda random, micros: _counted(micros, size), pa.int64(), (*bad, *never))


def _float(size: str) -> Way:
    """Milliseconds: floats of today's seconds do not have much more, and those of nanoseconds less."""

    def write(random: Random, micros: int) -> tuple[float, int]:
        ms = micros // 1000
        seconds = ms // 1000
        exact = {"s": ms / 1000, "ms": float(ms), "us": ms * 1e3, "ns": seconds * 1e9}[size]
        return exact, (seconds * SECOND if size == "ns" else ms * 1000)

    return Way(write, pa.float64(), (float("nan"), float("inf"), -float("inf")))


def _text_time(random: Random, micros: int, unit: str) -> tuple[str, int]:
    form = random.randrange(6)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    if form == 0:
        size = random.choice(list(PER_SECOND)) if unit == "auto" else unit
        count, meant = _counted(micros, size)
        return str(count), meant
    if form == 1:
        return moment.date().isoformat(), micros // DAY * DAY
    if form == 2:
        return (moment + timedelta(hours=5, minutes=30)).strftime("%Y-%m-%d %H:%M:%S.%f") + "+05:30", micros
    if form == 3:
        return moment.strftime("%Y-%m-%dT%H:%M:%S"), micros // SECOND * SECOND
    if form == 4:
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{micros % SECOND // 1000:03}Z", micros // 1000 * 1000
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f") + "999Z", micros  # nanoseconds are cut off


def number_ways() -> list[Way]:
    wholes = [Way(lambda random, cents: (cents // 100,) * 2, kind, (), (-1,)) for kind in (pa.int64(), pa.int16())]
    floats = [
        Way(lambda random, cents: (cents / 100,) * 2, pa.float64(), (float("nan"),), (-0.01, float("inf"))),
        Way(lambda random, cents: (float(np.float32(cents / 100)),) * 2, pa.float32(), (float("nan"),), (-0.5,)),
        Way(lambda random, cents: (cents // 100,) * 2, pa.uint64()),
    ]
    decimals = [
        Way(lambda random, cents: (Decimal(cents) / 100,) * 2, kind, (), (Decimal("-0.01"),))
        for kind in (pa.decimal128(9, 2), pa.decimal128(38, 18))
    ]
    return [*wholes, *floats, *decimals, *map(text_numbers, TEXTS)]


def text_numbers(kind: pa.DataType = TEXTS[0]) -> Way:
    bad = ("abc", "1,5", "0x10", "12 EUR", "NaN", "1 000")
    return Way(_text_number, kind, bad, ("-0.01", "-1"))


def _text_number(random: Random, cents: int) -> tuple[str, Decimal]:
    text = random.choice([f"{cents / 100:.2f}", f"{cents}e-2", f"+{cents / 100:.2f}", f"{cents // 100}."])
    return text, Decimal(text)


def duration_ways() -> list[Way]:
    counts = [Way(_duration(unit), pa.duration(unit), (), (-1,)) for unit in PER_SECOND]
    whole = Way(lambda random, seconds: (seconds * 1000,) * 2, pa.int64(), (), (-1,))
    floats = Way(lambda random, seconds: (seconds * 1000.0, seconds * 1000), pa.float64(), (1.5, float("nan")), (-1.0,))
    return [*counts, whole, floats, *map(text_durations, TEXTS)]


def _duration(unit: str) -> Callable[[Random, int], tuple[int, int]]:
    return lambda random, seconds: (seconds * PER_SECOND[unit], seconds * 1000)


def text_durations(kind: pa.DataType = TEXTS[0]) -> Way:
    return Way(_text_duration, kind, ("soon", "1 month", "s 5", "P1D"), ("-5 min",))


def _text_duration(random: Random, seconds: int) -> tuple[str, int]:
    minutes, rest = divmod(seconds, 60)
    return random.choice([f"{seconds} s", f"{minutes}min {rest}s", f"{seconds * 1000}ms"]), seconds * 1000


def key_ways() -> list[Way]:
    """Keys are meant as small numbers."""
    wholes = [Way(_whole_key, kind) for kind in (pa.int64(), pa.int32(), pa.uint64(), pa.decimal128(20, 0))]
    half = Way(lambda random, key: (float(key), str(key)), pa.float64(), (0.5, float("nan")))
    return [*wholes, half, *(Way(_text_key, kind) for kind in (*TEXTS, *TEXTS))]


def _whole_key(random: Random, key: int) -> tuple[Any, str]:
    return key, str(key)


def _text_key(random: Random, key: int) -> tuple[str, str]:
    text = ("a", "07", "ümlaut", "x y", "1.0", "日本", "-3", "null")[key % 8] + "." * (key // 8)
    return text, text


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """As Arrow has it; times and durations are given as counts."""
    if pa.types.is_temporal(kind):
        physical = pa.int32() if kind == pa.date32() else pa.int64()
        return pa.array(values, physical).view(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)
