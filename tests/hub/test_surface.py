"""What people can type: a hub has verbs of its own, and none of the purgatory's, in either build."""

from __future__ import annotations

import inspect

import pytest

from hub.scene import ROOMS
from sojourn.hub.hub import HubFace
from support import Build

VERBS = {"wait", "signal", "signal_many", "wait_many", "extend", "cancel", "get", "list", "explain", "stats", "close"}
ATTRIBUTES = {"name", "timer", "pending", "now_ms"}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("kind", ["Hub", "AsyncHub"])
def test_a_hub_has_its_own_verbs_and_no_others(build: Build, kind: str) -> None:
    hub = getattr(ROOMS[build], kind)("here")
    assert public(hub) == VERBS | ATTRIBUTES
    hub.close()


def test_every_verb_stands_in_the_face_with_what_it_means() -> None:
    for verb in VERBS:
        assert inspect.isfunction(vars(HubFace)[verb])
        assert vars(HubFace)[verb].__doc__ or verb == "stats"


@pytest.mark.parametrize("verb", ["wait", "signal"])
def test_a_quicker_form_says_what_the_face_says(build: Build, verb: str) -> None:
    """And takes the same arguments: Cython writes them in the first line."""
    face, hub = vars(HubFace)[verb], ROOMS[build].Hub
    said = inspect.getdoc(getattr(hub, verb)) or ""
    assert inspect.getdoc(face) in said
    if said != inspect.getdoc(face):
        names = list(inspect.signature(face).parameters)
        written = said.splitlines()[0].partition("(")[2].rpartition(")")[0].replace("*, ", "").split(", ")
        assert [name.partition("=")[0] for name in written] == names


def test_a_hub_that_was_not_made_says_so(build: Build) -> None:
    hub_type = ROOMS[build].Hub
    for verb, arguments in (("wait", ("k", "paid", 9)), ("signal", ("k", "paid"))):
        with pytest.raises((TypeError, AttributeError)):
            getattr(hub_type.__new__(hub_type), verb)(*arguments)
