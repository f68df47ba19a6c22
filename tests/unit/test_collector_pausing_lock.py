"""The pure timer's lock since Python 3.12, where a garbage collection may start at any call."""

from __future__ import annotations

import gc

import pytest

from sojourn.timer._lock import CollectorPausingLock


def test_the_collector_pauses_while_the_lock_is_held_however_often() -> None:
    lock = CollectorPausingLock()
    assert gc.isenabled()
    with lock:
        with lock:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with CollectorPausingLock():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_exception_gives_the_collector_back() -> None:
    with pytest.raises(KeyError), CollectorPausingLock():
        raise KeyError
    assert gc.isenabled()
