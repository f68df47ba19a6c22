"""The compiled core. `SOJOURN_PURE=1` builds without it (0 with it); otherwise a compiler error is an error."""

import os

from setuptools import Extension, setup

DECLARATIONS = ["src/sojourn/timer/_core.pxd", "src/sojourn/purgatory/_core.pxd"]


def extensions() -> list[Extension]:
    if os.environ.get("SOJOURN_PURE", "").strip().lower() not in ("", "0", "false", "no", "off"):
        return []
    from Cython.Build import cythonize  # noqa: PLC0415  (the pure build needs no compiler, nor Cython)

    task_memory = "../timer/_task_memory.h"
    rooms = [("timer", [task_memory]), ("purgatory", []), ("hub", [task_memory]), ("durable", []), ("pipeline", [])]
    return list(cythonize([core(room, headers) for room, headers in rooms], include_path=["src"]))


def core(room: str, headers: list[str]) -> Extension:
    folder = f"src/sojourn/{room}"
    return Extension(
        f"sojourn.{room}._core",
        [f"{folder}/_core.pyx"],
        depends=[*DECLARATIONS, *(f"{folder}/{header}" for header in headers)],
        extra_compile_args=["-O3"],
    )


setup(ext_modules=extensions())
