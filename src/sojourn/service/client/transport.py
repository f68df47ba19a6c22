"""Requests that are answered in the end: repeated while the service is away or busy, where that is safe."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from ...durable.log.records import half_a_pair
from ...errors import PurgatoryClosedError, UnreachableError
from .refusals import error_of, is_busy, problem_in
from .wire import Answer, LostError, Wire

JSON = "application/json"
NDJSON = "application/x-ndjson"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0


class Transport:
    """`retry_s` is how long a request is repeated before it fails. Nothing is pending here but requests."""

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        timeout_s: float,
        retry_s: float,
        ssl_context: ssl.SSLContext | None = None,
        now_s: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.wire = Wire(url, token, timeout_s, ssl_context)
        self.closing = threading.Event()
        self._retry_s, self._now_s = retry_s, now_s
        self._pause = self.closing.wait if pause is None else pause
        self._random = Random()

    def ask(
        self,
        method: str,
        path: str,
        shape: Any = None,
        *,
        body: bytes | None = None,
        kind: str = JSON,
        allow: tuple[int, ...] = (),
        wait_s: float = 0,
        is_repeatable: bool = True,
    ) -> Answer:
        """The answer, also if its status is one of `allow`; any other refusal is raised.

        What is not repeatable is sent once, and if its answer is lost, nobody knows.
        """
        if shape is not None:
            body = written(shape)
        headers = {"accept": JSON} if body is None else {"accept": JSON, "content-type": kind}
        answer = self._until_answered(method, path, body, headers, wait_s, is_repeatable)
        if answer.status >= 400 and answer.status not in allow:
            raise error_of(answer.status, problem_in(answer.body))
        return answer

    def _until_answered(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], wait_s: float, is_repeatable: bool
    ) -> Answer:
        give_up_s, attempts, is_repeated = self._now_s() + self._retry_s, 0, False
        while True:
            attempts += 1
            pause_s = self.pause_s(attempts)
            try:
                answer = self.wire.exchange(method, path, body, headers, wait_s=wait_s, is_fresh=not is_repeatable)
            except LostError as lost:
                self._check_open()
                if lost.was_sent and not is_repeatable:
                    raise UnreachableError(
                        f"{self.wire.url} did not answer {method} {path}: {lost}; it may have been carried out, and is "
                        "not said again, as twice would not be the same"
                    ) from None
                is_repeated = is_repeated or lost.was_sent
                if self._now_s() + pause_s > give_up_s:
                    raise self._unreachable(lost, is_repeated, attempts) from None
            else:
                pause_s = max(pause_s, after_s(answer))
                if not is_busy(answer) or self._now_s() + pause_s > give_up_s:
                    return answer._replace(is_repeated=is_repeated)
            self._pause(pause_s)
            self._check_open()

    def _unreachable(self, lost: LostError, was_sent: bool, attempts: int) -> UnreachableError:
        known = "it may have been carried out; saying it again is safe" if was_sent else "it was not carried out"
        times = "once" if attempts == 1 else f"{attempts} times"
        return UnreachableError(f"{self.wire.url} does not answer, asked {times}: {lost}; {known}")

    def pause_s(self, attempts: int) -> float:
        longest: float = min(FIRST_PAUSE_S * 2 ** min(attempts - 1, 20), LONGEST_PAUSE_S)
        return longest * self._random.uniform(0.5, 1)

    def _check_open(self) -> None:
        if self.closing.is_set():
            raise PurgatoryClosedError(f"the client of {self.wire.url} was closed; connect again")

    def check_open(self) -> None:
        self._check_open()

    def close(self) -> None:
        self.closing.set()
        self.wire.close()


def written(shape: Any) -> bytes:
    """JSON; refused, as a log would, if UTF-8 cannot write it."""
    try:
        return json.dumps(shape, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise half_a_pair(shape) from None


def after_s(answer: Answer) -> float:
    """What a busy service asks for."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0


def path_of(*parts: str, **query: object) -> str:
    """A path of these parts, each quoted, and what is asked with it, without what is None."""
    path = "/" + "/".join(quote(part, safe=":") for part in parts)
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path
