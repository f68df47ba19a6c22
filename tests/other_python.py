"""`python -m tests.other_python [INTERPRETER]`: the wheel, built for another Python and tested in a clean environment.

Without an interpreter it takes the newest one on this machine that the package supports and that is not the one it runs
on. Where there is none it says so, and fails: what was not tested must not look as if it had been.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "other-python"
NEEDS = ["hypothesis>=6.100", "numpy>=1.26", "pytest>=8.4"]
SUITES = ["contract", "model", "property", "rules", "purgatory", "hub", "concurrency"]
"""What the library itself promises; Spark, the commands and the demo are tested on one Python only."""

Version = tuple[int, int]


def supported() -> list[Version]:
    """The versions that pyproject.toml says the package is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" :: ")[2] for line in project["classifiers"] if ":: Python :: 3." in line]
    return [(int(major), int(minor)) for major, minor in (name.split(".") for name in named)]


def candidates() -> Iterator[str]:
    """The newest first: whatever is on the path, and what pyenv has built."""
    built = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"), reverse=True)
    for major, minor in sorted(supported(), reverse=True):
        yield from (str(path) for path in built if path.parts[-3].startswith(f"{major}.{minor}."))
        if found := shutil.which(f"python{major}.{minor}"):
            yield found


def version_of(interpreter: str) -> Version | None:
    """None if it cannot be run; a name on the path may be a stand-in for something that is not there."""
    asked = [interpreter, "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        ended = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    major, minor = ended.stdout.split()
    return int(major), int(minor)


def chosen(given: str | None) -> tuple[str, Version]:
    if given is not None:
        version = version_of(given)
        if version is None:
            raise SystemExit(f"{given} cannot be run; give the path of a Python interpreter")
        return given, version
    for interpreter in candidates():
        version = version_of(interpreter)
        if version in supported() and version != sys.version_info[:2]:
            return interpreter, version
    names = ", ".join(f"{major}.{minor}" for major, minor in supported())
    here = ".".join(map(str, sys.version_info[:2]))
    raise SystemExit(
        f"no other Python here: this is {here}, and of {names} no other one is on the path or in ~/.pyenv; "
        "nothing was tested. Install one, or name it: make other-python PYTHON3=/path/to/python"
    )


def run(*command: object) -> None:
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    subprocess.run(words, cwd=ROOT, check=True)


def main(given: str | None, *suites: str) -> None:
    interpreter, (major, minor) = chosen(given)
    place = PLACE / f"{major}.{minor}"
    shutil.rmtree(place, ignore_errors=True)
    run(interpreter, "-m", "venv", place / "venv")
    python = place / "venv" / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "wheel", "--no-deps", "--wheel-dir", place, ROOT)
    [wheel] = place.glob("sojourn-*.whl")
    run(*pip, "install", wheel, *NEEDS)
    where = "import sojourn.timer as timer; print(timer.IMPLEMENTATION, timer.__file__)"
    told = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    print(f"Python {major}.{minor}: {wheel.name}, {told.strip()}", flush=True)
    if not told.startswith("compiled ") or str(place) not in told:
        raise SystemExit("that is not the compiled core from the wheel")
    run(python, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/{suite}" for suite in suites or SUITES))


if __name__ == "__main__":
    main(*(sys.argv[1:] or [None]))
