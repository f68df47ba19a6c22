"""The compiled core. `SOJOURN_PURE=1` builds without it; otherwise a compiler error is an error."""

import os

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    if os.environ.get("SOJOURN_PURE"):
        return []
    from Cython.Build import cythonize

    core = Extension(
        "sojourn.timer._core",
        ["src/sojourn/timer/_core.pyx"],
        depends=["src/sojourn/timer/_task_memory.h"],
        extra_compile_args=["-O3"],
    )
    return list(cythonize([core]))


setup(ext_modules=extensions())
