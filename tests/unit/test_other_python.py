"""Which other Python the wheel is tested on, and what is said where there is none."""

from __future__ import annotations

import sys

import pytest

import other_python


def test_the_versions_are_those_that_the_package_is_for() -> None:
    assert other_python.supported() == [(3, 11), (3, 12), (3, 13)]
    assert sys.version_info[:2] in other_python.supported()


def test_an_interpreter_that_is_there_says_its_version() -> None:
    assert other_python.version_of(sys.executable) == sys.version_info[:2]
    assert other_python.chosen(sys.executable) == (sys.executable, sys.version_info[:2])


def test_the_newest_other_one_is_chosen_and_stand_ins_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {
        "stand-in": None,
        "the same": sys.version_info[:2],
        "too new": (3, 99),
        "other": (3, 12),
        "older": (3, 11),
    }
    monkeypatch.setattr(other_python, "candidates", lambda: iter(versions))
    monkeypatch.setattr(other_python, "version_of", versions.__getitem__)
    monkeypatch.setattr(other_python.sys, "version_info", (3, 13, 0))
    versions["the same"] = (3, 13)
    assert other_python.chosen(None) == ("other", (3, 12))


def test_where_there_is_no_other_one_it_says_so_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_python, "candidates", lambda: iter([sys.executable]))
    with pytest.raises(
        SystemExit, match=r"no other Python here: this is .*; nothing was tested\. Install one, or name it"
    ):
        other_python.chosen(None)


def test_an_interpreter_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"/nowhere/python cannot be run; give the path of a Python interpreter"):
        other_python.chosen("/nowhere/python")
