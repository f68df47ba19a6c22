"""What a command writes and what it reads are in different places: an output that would harm an input is refused."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath, PurePosixPath
from urllib.parse import urlparse

from ..pipeline.files.drafts import is_device
from ..pipeline.files.source import is_in, is_remote
from .exits import USAGE, fail

Place = str | os.PathLike[str]


def refuse_inputs(outputs: Sequence[tuple[str, Place]], inputs: Iterable[Place | None]) -> None:
    """Leave with USAGE if an output, which replaces what is there, is an input, has one in it, or is in one."""
    for given in [os.fspath(place) for place in inputs if place and outputs]:
        read = list(_read(given))
        for what, output in outputs:
            if any(is_in(path, _real(output)) for path in read) and not is_device(os.fspath(output)):
                _refuse(what, output, given, "replace it")
            refuse_in_folder(what, output, given)


def refuse_in_folder(what: str, output: Place, given: Place, *inner: str) -> None:
    """Leave with USAGE if the output, or one of the names in it that are written, is in the folder that is read."""
    paths = [_real(os.path.join(output, name)) for name in inner or ("",)]
    if any(is_in(path, _real(given)) for path in paths) and not is_device(os.fspath(output)):
        _refuse(what, output, given, "go into it")


def _refuse(what: str, output: Place, given: Place, harm: str) -> None:
    read, written = repr(os.fspath(given)), repr(os.fspath(output))
    fail(f"{read} is read here, and the {what} {written} would {harm}; name another place", USAGE)


def _read(given: str) -> Iterator[PurePath]:
    """What is read there: the place itself, what a pattern matches, and where links in a folder lead."""
    yield _real(given)
    for name in [] if is_remote(given) else glob.glob(given, recursive=True) if glob.has_magic(given) else [given]:
        yield _real(name)
        yield from (path.resolve() for path in Path(name).rglob("*") if path.is_symlink())


def _real(place: Place) -> PurePath:
    """Where that is, whatever it is called; on another file system, what it is called."""
    text = os.fspath(place)
    if text.startswith("file:"):
        text = urlparse(text).path
    return PurePosixPath(text) if is_remote(text) else Path(text).resolve()
