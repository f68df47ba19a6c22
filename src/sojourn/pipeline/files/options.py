"""How text files are written, under Spark's names for the options; the same for every engine."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import SourceError

CSV_OPTIONS = ("sep", "delimiter", "quote", "escape", "header", "encoding", "charset", "multiLine", "nullValue")
JSON_OPTIONS = ("encoding", "multiLine")

LISTING = (
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "latestFirst",
    "fileNameOnly",
    "maxFileAge",
    "maxCachedFiles",
    "discardCachedInputRatio",
    "cleanSource",
    "sourceArchiveDir",
    "pathGlobFilter",
    "modifiedBefore",
    "modifiedAfter",
    "recursiveFileLookup",
    "ignoreMissingFiles",
)
"""What Spark may be told about which files to read, and when: not how."""

LINES_AT_MOST = 100
"""How many lines a quoted field may span."""


@dataclass(frozen=True)
class CsvFormat:
    """`quote` is empty where nothing is quoted; `lines` is how many a record may have."""

    sep: bytes = b","
    quote: bytes = b'"'
    is_headed: bool = True
    encoding: str = "utf-8"
    null: str = ""
    lines: int = LINES_AT_MOST

    @staticmethod
    def of(options: Mapping[str, str]) -> CsvFormat:
        """`SourceError` for an unknown option: to ignore it would be to read something else than was asked for."""
        given = _known("csv", options, CSV_OPTIONS)
        quote = _character("quote", given.get("quote", '"'), may_be_none=True)
        if given.get("escape", "") not in ("", quote.decode()):
            raise SourceError(
                f"option escape={given['escape']!r}: a quote inside quotes is doubled, nothing else escapes"
            )
        return CsvFormat(
            sep=_character("sep", given.get("sep", given.get("delimiter", ","))),
            quote=quote,
            is_headed=_flag("header", given.get("header", "true")),
            encoding=_codec(given.get("encoding", given.get("charset", "utf-8"))),
            null=given.get("nullValue", ""),
            lines=LINES_AT_MOST if _flag("multiLine", given.get("multiLine", "true")) else 1,
        )


def check_json_options(options: Mapping[str, str]) -> None:
    """Refuse anything but JSON Lines: UTF-8, with one object per line."""
    given = _known("json", options, JSON_OPTIONS)
    if _codec(given.get("encoding", "utf-8")) != "utf-8":
        raise SourceError(f"option encoding={given['encoding']!r}: JSON is UTF-8; convert the files")
    if _flag("multiLine", given.get("multiLine", "false")):
        raise SourceError("option multiLine='true': each object must be on one line; `jq -c` writes them so")


def listing(options: Mapping[str, str]) -> dict[str, str]:
    """The options that say which files to read, for Spark."""
    names = {name.lower() for name in LISTING}
    return {name: value for name, value in options.items() if name.lower() in names}


def _known(format: str, options: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The options by our spelling of their names: Spark ignores case."""
    ours = {name.lower(): name for name in names}
    given = {}
    for name, value in options.items():
        if name.lower() not in ours:
            raise SourceError(f"option {name!r} is not known; for {format} there are {', '.join(names)}")
        given[ours[name.lower()]] = value
    return given


def _character(name: str, text: str, *, may_be_none: bool = False) -> bytes:
    text = "\t" if text == "\\t" else text
    if may_be_none and text in ("", "\0", "\\u0000"):
        return b""
    if len(text) != 1 or not text.isascii() or text in "\r\n":
        raise SourceError(f"option {name}={text!r} must be one ASCII character, but not a line break")
    return text.encode()


def _flag(name: str, text: str) -> bool:
    flag = {"true": True, "false": False}.get(text.strip().lower())
    if flag is None:
        raise SourceError(f"option {name}={text!r} must be true or false")
    return flag


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SourceError(
            f"option encoding={name!r} is not known; common ones are UTF-8, ISO-8859-1 and UTF-16"
        ) from None
