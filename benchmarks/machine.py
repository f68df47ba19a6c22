"""Where and on what a run was made: the machine, the interpreters, the commit."""

from __future__ import annotations

import compileall
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compile_sources() -> None:
    """Bytecode for all sources, as pip makes it when it installs a package: a start is measured as users have it."""
    for folder in ("src", "benchmarks"):
        compileall.compile_dir(ROOT / folder, quiet=1)


def machine() -> dict[str, object]:
    """The facts that a reader needs to compare two result files."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "java": _java(),
        "platform": f"{platform.system()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
    }


def commit() -> str:
    """The checked-out commit, with `-dirty` where tracked files differ from it; `unknown` outside a repository."""
    head = _output("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD").strip()
    if not re.fullmatch(r"[0-9a-f]+", head):
        return "unknown"
    return head + ("-dirty" if _output("git", "-C", str(ROOT), "status", "--porcelain", "-uno").strip() else "")


def _cpu() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def _java() -> str | None:
    """The version that `java` reports, or None where there is none."""
    found = re.search(r'version "([^"]+)"', _output("java", "-version"))
    return found[1] if found else None


def _output(*command: str) -> str:
    """Everything the command prints, or an empty string when it is missing."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout
