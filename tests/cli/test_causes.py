"""The innermost cause of an error, in one line."""

from __future__ import annotations

from typing import Any

import pytest

from sojourn.cli.causes import innermost

STACK = "\n\tat org.apache.spark.sql.execution.FileScanRDD.hasNext(FileScanRDD.scala:153)\n\t... 3 more\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "go.py", line 27, in boom\n    raise ValueError("own words")\n'
READ = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/1.parquet."


class Java:
    """An exception as Py4J shows it."""

    def __init__(self, name: str, message: str | None, cause: Java | None = None) -> None:
        self._said = name if message is None else f"{name}: {message}"
        self._cause = cause

    def toString(self) -> str:  # noqa: N802
        return self._said

    def getCause(self) -> Java | None:  # noqa: N802
        return self._cause


class Gone:
    """One whose Java virtual machine has ended."""

    def toString(self) -> str:  # noqa: N802
        raise ConnectionError("refused")


class SparkError(Exception):
    def __init__(self, message: str, **java: Any) -> None:
        super().__init__(message)
        self.__dict__.update(java)


def called(java: str, causes: str = "") -> str:
    return f"An error occurred while calling o440.save.\n: {java}{STACK}{causes}"


def test_a_stream_that_cannot_read_a_file_says_which_and_why() -> None:
    """As it comes out of a micro-batch: Java's words in Python's in Java's."""
    inner = called(
        f"org.apache.spark.SparkException: {READ} SQLSTATE: KD001",
        f"Caused by: org.apache.spark.sql.execution.SchemaColumnConvertNotSupportedException: column: [at]{STACK}",
    )
    proxy = (
        f"An exception was raised by the Python Proxy. Return Message: {TRACEBACK}py4j.protocol.Py4JJavaError: {inner}"
    )
    failed = f"[STREAM_FAILED] Query [id = 1] terminated with exception: {proxy}"
    java = Java("org.apache.spark.sql.streaming.StreamingQueryException", failed, Java("py4j.Py4JException", proxy))
    assert innermost(SparkError(failed, _origin=java)) == f"{READ}: column: [at]"
    assert innermost(SparkError(failed)) == f"{READ}: column: [at]"


def test_the_causes_of_javas_exceptions_are_asked_for() -> None:
    cause = Java("java.lang.RuntimeException", "corrupted file: the footer index is not within the file: -5")
    java = Java("org.apache.spark.SparkException", f"{READ}  SQLSTATE: KD001", cause)
    error = SparkError("An error occurred while calling o459.collectToPython.", java_exception=java)
    assert innermost(error) == f"{READ}: corrupted file: the footer index is not within the file: -5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"An exception was thrown from the Python worker:\n{TRACEBACK}ValueError: own words\n",
            "ValueError: own words",
        ),
        (
            called(f"org.apache.spark.api.python.PythonException: {TRACEBACK}sojourn.errors.ConfigError: a: b\n"),
            "a: b",
        ),
        (called("java.io.EOFException"), "EOFException"),
        (called("java.io.IOException: No space left on device"), "No space left on device"),
        (
            "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 "
            f"(TID 3) (host executor 1): java.lang.IllegalStateException: too large{STACK}\nDriver stacktrace:",
            "too large",
        ),
        (
            "[UNRESOLVED_COLUMN] A column `nope` cannot be resolved. SQLSTATE: 42703;\n'Project ['nope]",
            "[UNRESOLVED_COLUMN] A column `nope` cannot be resolved.",
        ),
        ("a line: and no more", "a line: and no more"),
        ("first\nsecond", "first"),
        ("", "SparkError"),
    ],
)
def test_the_line_that_says_most_is_found_in_the_text(text: str, said: str) -> None:
    assert innermost(SparkError(text)) == said


def test_an_error_can_still_be_told_when_java_is_gone() -> None:
    assert innermost(SparkError("the end", java_exception=Gone())) == "the end"
