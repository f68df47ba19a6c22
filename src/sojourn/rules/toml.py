"""Rules as TOML, in and out. Errors name the line, the value and what is allowed."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from os import PathLike, fspath
from typing import Any

from ..errors import RuleError
from .condition import (
    AllOf,
    AnyOf,
    Condition,
    Never,
    NOf,
    Reached,
    Seen,
    Total,
    all_of,
    any_of,
    n_of,
    never,
)
from .duration import duration_text
from .event import Number
from .exact import number_text
from .rule import Rule, checked_columns
from .toml_line import line_of
from .within import Column, UntilColumn, Within

_SETTINGS = ("name", "opens", "per", "until", "within", "cancels", "keeps_alive")
_REQUIRED = ("name", "opens", "within")
_OPTIONS: dict[str, tuple[str, ...]] = {
    "seen": ("times", "distinct"),
    "total": ("at_least", "of"),
    "reached": ("at_least", "by"),
    "all_of": (),
    "any_of": (),
    "n_of": ("n",),
    "never": (),
}
_CONDITIONS = ", ".join(_OPTIONS)


def read_rule(source: str | PathLike[str]) -> Rule:
    """The rule in a TOML text or file; a `str` on one line that ends in .toml is the name of a file."""
    if isinstance(source, str) and ("\n" in source or not source.endswith(".toml")):
        return _parsed(source, "")
    path = fspath(source)
    return _parsed(_text_of(path), f"{path}, ")


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        byte = error.object[error.start]
        raise RuleError(f"{path}, line {line}: byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise RuleError(_why_unreadable(path, error)) from None


def _why_unreadable(path: str, error: OSError) -> str:
    """As a sentence, with a way out."""
    folder, name = os.path.split(path)
    if os.path.isdir(path):
        return f"{path!r} is a folder; name a rule file in it, such as {os.path.join(path, 'rule.toml')!r}"
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"the rule file {path!r} cannot be read: {error.strerror}; see that it is a file that you may read"
    if not os.path.isdir(folder or "."):
        return f"there is no {path!r}: the folder {folder!r} does not exist"
    close = difflib.get_close_matches(name, sorted(os.listdir(folder or ".")), n=1)
    hint = f"did you mean {os.path.join(folder, close[0])!r}?" if close else "name a rule file, in TOML"
    return f"there is no {path!r}; {hint}"


def write_rule(rule: Rule) -> str:
    """A TOML text from which `read_rule` makes an equal rule."""
    lines = ["[rule]", f"name = {_text(rule.name)}", f"opens = {_text(rule.opens)}", f"per = {_text(rule.per)}"]
    if not isinstance(rule.until, Never):
        lines.append(f"until = {_condition_text(rule.until)}")
    lines.append(f"within = {_within_text(rule.within)}")
    if rule.cancels is not None:
        lines.append(f"cancels = {_text(rule.cancels)}")
    if rule.keeps_alive is not None:
        lines.append(f"keeps_alive = {_text(rule.keeps_alive)}")
    if rule.columns:
        lines += ["", "[columns]", *(f"{ours} = {_text(theirs)}" for ours, theirs in rule.columns)]
    return "\n".join(lines) + "\n"


class _At(Exception):  # noqa: N818  (it never leaves this module)
    """What is wrong, and where: the path of keys that leads there, and perhaps a setting inside."""

    def __init__(self, message: str, *path: str, inside: str | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.inside = inside


def _parsed(text: str, where: str) -> Rule:
    try:
        return _rule(tomllib.loads(text, parse_float=_number))
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line ([0-9]+), column [0-9]+\)", str(error))
        line = int(position[1]) if position else text.count("\n") + 1
        raise RuleError(f"{where}line {line}: this is not TOML: {error}") from None
    except _At as error:
        raise RuleError(f"{where}line {line_of(text, error.path, error.inside)}: {error}") from None


def _number(text: str) -> float | Decimal:
    """A number with a point: a float, unless it has more digits than a float tells apart."""
    value = float(text)
    return value if Decimal(repr(value)) == Decimal(text) else Decimal(text)


def _rule(document: Mapping[str, Any]) -> Rule:
    _refuse_unknown(document, ("rule", "columns"), "table")
    settings = _table(document, "rule")
    _refuse_unknown(settings, _SETTINGS, "setting", "rule")
    for name in _REQUIRED:
        if name not in settings:
            raise _At(f"[rule] has no {name}; needed are {', '.join(_REQUIRED)}", "rule")
    columns = _table(document, "columns") if "columns" in document else {}
    try:
        checked_columns(columns)
    except RuleError as error:
        raise _At(str(error), "columns", *filter(None, [error.field])) from None
    until = _until(settings["until"]) if "until" in settings else None
    try:
        return Rule(**{**settings, "until": until, "columns": columns})
    except RuleError as error:
        raise _At(str(error), "rule", *filter(None, [error.field])) from None


def _table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if name not in document:
        raise _At(f"there is no [{name}]; a rule file starts with [rule]")
    table = document[name]
    if not isinstance(table, Mapping):
        raise _At(f"{name} = {table!r} is not a table; write [{name}] on a line of its own", name)
    return table


def _refuse_unknown(given: Mapping[str, Any], allowed: tuple[str, ...], what: str, *path: str) -> None:
    for name in given:
        if name not in allowed:
            raise _At(f"{what} {name!r} is not known; allowed are {', '.join(allowed)}", *path, name)


def _until(value: object) -> Condition:
    try:
        return _condition(value)
    except RuleError as error:
        raise _At(f"until: {error}", "rule", "until", inside=error.field) from None


def _condition(value: object) -> Condition:
    if isinstance(value, str):
        return Seen(value)
    if not isinstance(value, Mapping):
        raise RuleError(f'{value!r} is not a condition; allowed are "a kind" and tables with one of {_CONDITIONS}')
    names = [name for name in _OPTIONS if name in value]
    if len(names) != 1:
        raise RuleError(f"{dict(value)!r} is not a condition; allowed is a table with one of {_CONDITIONS}")
    name, options = names[0], {key: option for key, option in value.items() if key != names[0]}
    for option in options:
        if option not in _OPTIONS[name]:
            allowed = ", ".join(_OPTIONS[name]) or "none"
            raise RuleError(f"{name}: option {option!r} is not known; allowed are: {allowed}", option)
    return _made(name, value[name], options)


def _made(name: str, subject: Any, options: dict[str, Any]) -> Condition:
    match name:
        case "seen":
            return Seen(subject, **options)
        case "total" | "reached":
            if "at_least" not in options:
                raise RuleError(f"{name} = {subject!r} has no at_least, the number it waits for", name)
            return (Total if name == "total" else Reached)(subject, **options)
        case "never":
            if subject is not True:
                raise RuleError(f"never = {subject!r} says nothing; allowed is true", name)
            return never()
    if not isinstance(subject, list):
        raise RuleError(f'{name} = {subject!r} is not a list; write {name} = ["paid", "packed"]', name)
    parts = [_condition(part) for part in subject]
    if name != "n_of":
        return (all_of if name == "all_of" else any_of)(*parts)
    if "n" not in options:
        raise RuleError(f"n_of has no n, the number of parts that must hold, from 1 to {len(parts)}", name)
    return n_of(options["n"], *parts)


def _condition_text(condition: Condition) -> str:
    match condition:
        case Seen(kind, 1, None):
            return _text(kind)
        case Seen(kind, times, distinct):
            return _inline(seen=kind, times=times, distinct=distinct)
        case Total(kind, at_least, of):
            return _inline(total=kind, of=of, at_least=at_least)
        case Reached(kind, at_least, by):
            return _inline(reached=kind, at_least=at_least, by=by)
        case Never():
            return "{ never = true }"
        case AllOf(parts):
            return f"{{ all_of = {_list(parts)} }}"
        case AnyOf(parts):
            return f"{{ any_of = {_list(parts)} }}"
        case NOf(n, parts):
            return f"{{ n_of = {_list(parts)}, n = {n} }}"


def _list(parts: tuple[Condition, ...]) -> str:
    return f"[{', '.join(map(_condition_text, parts))}]"


def _inline(**options: str | Number | None) -> str:
    given = (f"{name} = {_scalar(value)}" for name, value in options.items() if value is not None)
    return f"{{ {', '.join(given)} }}"


def _scalar(value: str | Number) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Decimal):
        return number_text(value)
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)


def _within_text(within: Within) -> str:
    match within:
        case Column(name):
            return _inline(column=name)
        case UntilColumn(name):
            return _inline(until_column=name)
        case _:
            return _text(duration_text(within))


def _text(value: str) -> str:
    """A TOML basic string: JSON's escapes, and one more."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
