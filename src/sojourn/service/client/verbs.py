"""Each verb of a hub as a request, or as a few. They block: an asynchronous client calls them in threads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from ...durable import door
from ...durable.acts import check_note
from ...durable.hub import DurableStats
from ...durable.state.wait import Told
from ...durable.verbs import check_where
from ...errors import ConfigError, OutcomesGoneError, UnreachableError
from ...hub._plan import check_several
from ...rules import Event, Rule
from ...rules.duration import Duration, duration_ms
from .events import Events
from .known import CATCH_UP_S, Known
from .shapes import checked_id, plan_shape, signal_shape, stats_from, told_from, wait_shape
from .transport import NDJSON, Transport, path_of, written
from .wait import Owner, RemoteWait
from .wire import Answer

PAGE = 1_000
POLL_MS = 20_000


class RemoteVerbs:
    """With `follows_all` the ends of all waits will come with the events."""

    def __init__(self, transport: Transport, owner: Owner, *, follows_all: bool) -> None:
        self._follows_all = follows_all
        self.transport = transport
        self.known = Known(owner)
        self.events = Events(transport, self.known.tell, owner._missed)

    # Waits

    def wait(
        self, key: str | list[str], until: Any, within: Any, rule: Rule | str | None, given_id: str | None, payload: Any
    ) -> list[RemoteWait]:
        return self.wait_many([key], until, within, rule, [given_id], [payload])

    def wait_many(
        self,
        keys: Iterable[str | list[str]],
        until: Any,
        within: Any,
        rule: Rule | str | None,
        ids: Iterable[str | None] | None,
        payloads: Iterable[Any] | None,
    ) -> list[RemoteWait]:
        check_several(keys)
        key_column = list(keys)
        id_column = door.column("ids", ids, len(key_column)) or [None] * len(key_column)
        payload_column = door.column("payloads", payloads, len(key_column)) or [None] * len(key_column)
        plan = plan_shape(until, within, rule)
        shapes = [
            wait_shape(plan, key, checked_id(given) or uuid4().hex, payload)
            for key, given, payload in zip(key_column, id_column, payload_column, strict=True)
        ]
        if self._follows_all:
            self.events.start()
        if isinstance(rule, Rule) and shapes:
            self.register(rule)
        is_live = self.events.is_following
        with self.known.listening():
            if len(shapes) == 1:
                found = [json.loads(self.transport.ask("POST", "/v1/waits", shapes[0]).body)]
            else:
                found = self._batch([{"wait": shape} for shape in shapes])
            return [self.known.handle(shape, is_live=is_live) for shape in found]

    def get(self, wait: RemoteWait | str) -> RemoteWait | None:
        is_live = self.events.is_following
        with self.known.listening():
            answer = self.transport.ask("GET", path_of("v1", "waits", id_of(wait)), allow=(404,))
            return None if answer.status == 404 else self.known.handle(json.loads(answer.body), is_live=is_live)

    def follow(self, wait: RemoteWait) -> None:
        """From now on its end comes with the events, if it has not ended already."""
        if wait._told is None and not (wait._is_live and self.events.is_following):
            self.events.start()
            if self.get(wait) is None:
                raise OutcomesGoneError(f"{wait!r} has ended, and the service no longer knows how: it was too long ago")

    def pending(self, key: str | None, rule: str | None, due_before: int | None) -> list[RemoteWait]:
        found: list[RemoteWait] = []
        after: int | None = 0
        is_live = self.events.is_following
        while after is not None:
            path = path_of("v1", "waits", key=key, rule=rule, due_before=due_before, after=after, limit=PAGE)
            with self.known.listening():
                page = json.loads(self.transport.ask("GET", path).body)
                found += [self.known.handle(shape, is_live=is_live) for shape in page["waits"]]
            after = page["next"]
        return sorted(found, key=lambda wait: wait.deadline)

    def extend(self, wait: RemoteWait | str, within: Duration) -> bool:
        path, body = path_of("v1", "waits", id_of(wait)), {"within": duration_ms(within)}
        answer = self.transport.ask("PATCH", path, body, allow=(404, 409))
        if answer.status == 200:
            self.known.handle(json.loads(answer.body), is_live=False)
        return answer.status == 200

    def cancel(self, wait: RemoteWait | str) -> bool:
        answer = self.transport.ask("DELETE", path_of("v1", "waits", id_of(wait)), allow=(404,))
        if answer.status == 404:
            return False
        shape = json.loads(answer.body)
        found = self.known.handle(shape["wait"], is_live=False)
        is_ours: bool = shape["ended_by_this"]
        if not is_ours and answer.is_repeated and found._told is not None and found._told.outcome == "cancelled":
            raise UnreachableError(
                f"{found!r} is cancelled, but whether by this call nobody knows: its first answer was lost"
            )
        return is_ours

    def explain(self, wait: RemoteWait | str) -> str:
        if isinstance(wait, RemoteWait) and wait._told is not None:
            return wait._told.explain()
        wait_id = id_of(wait)
        answer = self.transport.ask("GET", path_of("v1", "waits", wait_id, "explain"), allow=(404,))
        if answer.status == 404:
            return f"there is no wait {wait_id!r}, or no longer"
        text: str = json.loads(answer.body)["text"]
        return text

    # Many at once

    def cancel_where(self, rule: str | None, key_prefix: str | None, dry_run: bool) -> int:
        check_where(rule, key_prefix)
        return self._bulk("/v1/waits:cancel", {"rule": rule, "key_prefix": key_prefix, "dry_run": dry_run})

    def shift(
        self, rule: str | None, key_prefix: str | None, by: Duration, dry_run: bool, note: str | None = None
    ) -> int:
        check_where(rule, key_prefix)
        moved = {"by": door.by_ms(by), "note": check_note(note)}
        where = {"rule": rule, "key_prefix": key_prefix, "dry_run": dry_run, **moved}
        return self._bulk("/v1/waits:shift", where)

    def _bulk(self, path: str, where: dict[str, Any]) -> int:
        """Not repeated once it may have been carried out: it would be something else the second time."""
        given = {name: value for name, value in where.items() if value is not None}
        answer = self.transport.ask("POST", path, given, is_repeatable=where["dry_run"])
        count: int = json.loads(answer.body)["count"]
        if count and not where["dry_run"]:
            self._catch_up(answer)
        return count

    # Signals, rules, and what is asked

    def signal_many(
        self,
        signals: Iterable[Event | tuple[Any, ...]],
        ids: Iterable[str | None] | None,
        ats: Iterable[int | None] | None,
    ) -> int:
        rows = list(signals)
        id_column = door.column("ids", ids, len(rows)) or [None] * len(rows)
        at_column = door.column("ats", ats, len(rows)) or [None] * len(rows)
        shapes = [
            signal_shape(row, checked_id(given) or uuid4().hex, at)
            for row, given, at in zip(rows, id_column, at_column, strict=True)
        ]
        if len(shapes) != 1:
            return sum(shape["completed"] for shape in self._batch([{"signal": shape} for shape in shapes]))
        answer = self.transport.ask("POST", "/v1/signals", shapes[0])
        completed: int = json.loads(answer.body)["completed"]
        if completed:
            self._catch_up(answer)
        return completed

    def register(self, rule: Rule) -> None:
        text = door.check_rule(rule).to_toml()
        path = path_of("v1", "rules", rule.name, replace="true")
        self.transport.ask("PUT", path, body=text.encode(), kind="application/toml")

    def stats(self) -> DurableStats:
        return stats_from(self._stats())

    def now_ms(self) -> int:
        now_ms: int = self._stats()["now_ms"]
        return now_ms

    def _stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = json.loads(self.transport.ask("GET", "/v1/stats").body)
        return stats

    def outcomes(self, after: int, wait_ms: int) -> list[Told]:
        """The next ones, some at a time; none if none comes within that time."""
        path = path_of("v1", "outcomes", after=after, limit=PAGE, wait=f"{wait_ms}ms" if wait_ms else None)
        answer = self.transport.ask("GET", path, wait_s=wait_ms / 1000)
        return [told_from(shape) for shape in json.loads(answer.body)["outcomes"]]

    def advance(self, by: Duration) -> int:
        answer = self.transport.ask("POST", "/v1/clock/advance", {"by": duration_ms(by)}, is_repeatable=False)
        self._catch_up(answer)
        now_ms: int = json.loads(answer.body)["now_ms"]
        return now_ms

    # How it is sent

    def _batch(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """All lines or none, in one request, and what each was answered."""
        if not lines:
            return []
        body = b"\n".join(map(written, lines))
        answer = self.transport.ask("POST", "/v1/batch?atomic=true", body=body, kind=NDJSON)
        self._catch_up(answer)
        return [json.loads(line)["body"] for line in answer.body.splitlines()]

    def _catch_up(self, answer: Answer) -> None:
        """Something may have ended: whoever holds a wait should see that when this call returns, as in a hub."""
        if not self.events.is_following or self.events.is_here() or not self.known.has_pending():
            return
        last = answer.headers.get("sojourn-last")  # where answers are in a hurry it is left out
        self.events.await_number(self._stats()["last_number"] if last is None else int(last), CATCH_UP_S)


def id_of(wait: RemoteWait | str) -> str:
    return wait.id if isinstance(wait, RemoteWait) else door.asked_id(wait)


def check_not_everybodys(cancel_pending: bool) -> None:
    if cancel_pending:
        raise ConfigError("cancel_pending: the waits are the service's, and others' too; cancel_where(...) says which")
