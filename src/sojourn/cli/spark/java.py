"""The Java that Spark would run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import NamedTuple

LEAST_JAVA = 17


class Java(NamedTuple):
    """A Java that is new enough: its version, its path, and all that it says of itself."""

    version: str
    command: str
    said: str


def find_java() -> Java | None:
    """None if there is none that is new enough."""
    home = os.environ.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not command or not os.path.exists(command):
        return None
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)([^"]*)"', said)
    is_fit = version is not None and int(version[1]) >= LEAST_JAVA
    return Java(f"{version[1]}{version[2]}", command, said) if version and is_fit else None
