"""What went wrong, in one line: the innermost cause of an error, which Spark wraps several times over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_JAVA = re.compile(r": (?=(?:[a-z][\w$]*\.)+[\w$]*(?:Exception|Error|Failure)\b)")
"""What precedes an exception in the text of a stack trace, be it the first or the cause of another."""

_CLASS = re.compile(r"(?:[\w$]+\.)+([\w$]+)(?:: |$)")

_PYTHON = re.compile(
    r"^(?:sojourn\.[\w.]+: |(?:\w+\.)*)((?<=: ).*|\w+(?:Error|Exception|Interrupt|Exit)\b.*)", re.MULTILINE
)
"""The last line of a traceback: without the module, and of our own errors without the class."""

_WRAPPERS = ("[STREAM_FAILED]", "[FOREACH_BATCH_USER_FUNCTION_ERROR]", "[PYTHON_EXCEPTION]")
"""What Spark says around any error there is."""

_MOST_CAUSES = 50


def innermost(error: BaseException) -> str:
    """The first cause, in Java or in Python; preceded by Spark's own message, which may say in which file it is."""
    text = _whole(error).strip() or type(error).__name__
    *outer, last = _JAVA.split(text)
    if "Traceback (most recent call last)" in last:
        said = _PYTHON.findall(last)
        return str(said[-1]).strip() if said else last.splitlines()[-1].strip()
    lines = [_line(exception) for exception in outer]
    in_words = [line for line in lines if line.startswith("[") and not line.startswith(_WRAPPERS)]
    first = _line(last)
    return f"{in_words[-1]}: {first}" if in_words and in_words[-1] != first else first


def _whole(error: BaseException) -> str:
    """The text of an error; of a Java error, with all its causes."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    try:
        return "\n".join(f"Caused by: {cause.toString()}" for cause in _chain(java)) or str(error)
    except Exception:  # the Java virtual machine is gone
        return str(error)


def _chain(java: Any) -> Iterator[Any]:
    for _ in range(_MOST_CAUSES):
        if java is None:
            return
        yield java
        java = java.getCause()


def _line(exception: str) -> str:
    """The first line, without the class, if anything follows it, and without the number of the SQL standard."""
    line = exception.strip().partition("\n")[0]
    name = _CLASS.match(line)
    if name is not None:
        line = line[name.end() :] or name[1]
    return re.sub(r"\s*SQLSTATE: \w+;?$", "", line).strip()
