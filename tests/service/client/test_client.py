"""What a client does beyond the contract of a hub: handles, the shared stream, errors, tokens, the end."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from service.client.local import local_service
from service.client.scene import RemoteScene
from sojourn.service.access.tokens import Tokens
from sojourn.service.client import RemoteHub, RemoteWait
from sojourn.service.client.refusals import error_of

GUARD_S = 30
SHIPPED = sj.Rule("shipped", opens="order", until=sj.all_of("paid", "packed"), within=1_000, cancels="void")


def test_three_ways_to_say_it_are_one_hub(scene: RemoteScene) -> None:
    with sj.Hub("orders", url=scene.local.url) as hub, sj.connect(scene.local.url, name="orders") as other:
        assert type(hub) is type(other) is RemoteHub
        assert isinstance(hub, sj.Hub)
        assert hub.wait("k", "paid", 100, id="w").opened_at == other.wait("k", "paid", 100, id="w").opened_at
        assert repr(hub) == f"<RemoteHub 'orders' open, at {scene.local.url}>"


def test_a_hub_is_in_a_folder_or_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(sj.ConfigError, match="give one of the two"):
        sj.Hub(data=tmp_path, url="http://127.0.0.1:1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "127.0.0.1:7420"}, "is not where a service is"),
        ({"url": "http://127.0.0.1:x"}, "is not a URL"),
        ({"url": "ftp://127.0.0.1"}, "is not where a service is"),
        ({"url": 7420}, "is not a text"),
        ({"url": "http://host/a b"}, "visible ASCII"),
        ({"url": "http://user:word@host"}, "a service takes a token="),
        ({"url": "http://host", "token": "a b"}, "visible ASCII"),
        ({"url": "http://host", "token": "a\r\nx: y"}, "visible ASCII"),
        ({"url": "http://host", "timeout": "soon"}, "is not a number and a unit"),
    ],
)
def test_what_cannot_be_connected_to_is_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        sj.connect(**arguments)
    assert "word" not in str(error.value).replace("password", "")


def test_the_same_id_is_the_same_handle_as_long_as_somebody_has_it(scene: RemoteScene) -> None:
    first = scene.hub.wait("k", "paid", 100, id="w")
    assert scene.hub.get("w") is first
    assert scene.hub.list() == [first]
    del first
    gc.collect()
    assert len(scene.hub._verbs.known._by_id) == 0


def test_without_anybody_who_waits_there_is_no_stream(scene: RemoteScene) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    assert scene.hub.signal("k", "paid") == 1
    assert wait.done()  # it asks
    assert not scene.hub._verbs.events.is_following


def test_a_callback_needs_nobody_to_hold_the_wait(scene: RemoteScene) -> None:
    scene.wait("k", id="w")
    gc.collect()
    scene.signal("k", "paid")
    assert scene.told == [("w", "completed", 0)]
    gc.collect()
    assert len(scene.hub._verbs.known._held) == len(scene.hub._verbs.known._by_id) == 0


def test_all_who_wait_share_one_stream(scene: RemoteScene) -> None:
    before = threading.active_count()
    waits = [scene.wait(str(i)) for i in range(20)]
    assert [thread.name for thread in threading.enumerate()].count("sojourn-events") == 1
    assert threading.active_count() <= before + 2
    scene.hub.signal_many([(str(i), "paid") for i in range(20)])
    assert all(wait.done() for wait in waits)


def test_an_outcome_that_is_there_before_anybody_waits_for_it_is_not_missed(scene: RemoteScene) -> None:
    wait = scene.hub.wait("k", "paid", 100)
    scene.signal("k", "paid")
    assert wait.result(GUARD_S).outcome == "completed"
    again = scene.hub.wait("k", "paid", 100, id="w")
    scene.advance(200)
    again.add_done_callback(scene.note)
    assert scene.told == [("w", "expired", 100)]


def test_an_outcome_that_overtakes_the_answer_is_not_missed(scene: RemoteScene) -> None:
    scene.hub.wait("k", "paid", 100, id="w")
    pending = json.loads(scene.hub._transport.ask("GET", "/v1/waits/w").body)
    scene.signal("k", "paid")
    (told,) = scene.hub.outcomes()
    known = scene.hub._verbs.known
    gc.collect()
    with known.listening():  # an answer is under way, and the stream is quicker
        known.tell(told)
        wait = known.handle(pending, is_live=True)
    assert wait._told == told
    assert known._meanwhile == {}


def test_the_stream_goes_on_from_the_last_outcome_it_told_of(scene: RemoteScene) -> None:
    for key in "ab":
        scene.wait(key)
        scene.signal(key, "paid")
    assert scene.hub._verbs.events.cursor == scene.hub.stats().last_number == 2


def test_a_thread_waits_for_an_outcome_that_another_brings(scene: RemoteScene) -> None:
    wait = scene.hub.wait("k", "paid", "1 h")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(wait.result(GUARD_S)))
    thread.start()
    scene.signal("k", "paid")
    thread.join(GUARD_S)
    assert found[0].decided_by == "paid"
    with pytest.raises(TimeoutError, match="still pending after 0 s"):
        scene.hub.wait("l", "paid", "1 h").result(0)


def test_a_callback_may_use_the_client_it_is_called_by(scene: RemoteScene, monkeypatch: Any) -> None:
    events = scene.hub._verbs.events
    awaited, by_itself = events.await_number, []

    def await_number(number: int, timeout_s: float) -> bool:
        by_itself.append(events.is_here())
        return awaited(number, timeout_s)

    monkeypatch.setattr(events, "await_number", await_number)
    last = scene.wait("b", "go", id="b")
    scene.wait("a", "go", id="a", callback=lambda wait: scene.signal("b", "go"))
    assert scene.signal("a", "go") == 1
    assert last.result(GUARD_S).outcome == "completed"
    assert by_itself
    assert not any(by_itself)


@pytest.mark.parametrize("end", ["signal", "cancel"])
def test_who_ends_a_wait_returns_when_its_callbacks_have(scene: RemoteScene, monkeypatch: Any, end: str) -> None:
    ask, begun, called = scene.hub._transport.ask, threading.Event(), []

    def ask_slowly(method: str, *arguments: Any, **options: Any) -> Any:
        answer = ask(method, *arguments, **options)
        assert method == "GET" or begun.wait(GUARD_S)  # the stream has been quicker than the answer
        return answer

    def callback(wait: RemoteWait) -> None:
        begun.set()
        called.append(scene.hub.now_ms())

    wait = scene.wait(callback=callback)
    monkeypatch.setattr(scene.hub._transport, "ask", ask_slowly)
    assert scene.signal("k", "paid") if end == "signal" else wait.cancel()
    assert called == [0]


def test_closing_tells_those_who_wait_and_leaves_the_waits(scene: RemoteScene) -> None:
    errors: list[BaseException] = []
    with sj.connect(scene.local.url) as hub:
        wait = hub.wait("k", "paid", "1 h", id="w", callback=scene.note)

        def work() -> None:
            try:
                wait.result()
            except sj.PurgatoryClosedError as error:
                errors.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        while len(wait._callbacks) < 2:
            thread.join(0.001)
        assert hub.close() == [wait]
        thread.join(GUARD_S)
    assert "goes on in the service" in str(errors[0])
    with pytest.raises(sj.PurgatoryClosedError, match="connect again"):
        hub.signal("k", "paid")
    assert scene.hub.get("w").done() is False  # type: ignore[union-attr]
    assert scene.told == []


def test_closing_cancels_nothing_that_is_others(scene: RemoteScene) -> None:
    with pytest.raises(sj.ConfigError, match="cancel_where"):
        scene.hub.close(cancel_pending=True)


def test_waits_by_rule_by_name_or_with_the_rule_itself(scene: RemoteScene) -> None:
    with pytest.raises(sj.RuleError, match="'shipped' is not registered"):
        scene.hub.wait("k", rule="shipped")
    scene.hub.register(SHIPPED)
    by_name = scene.hub.wait("k", rule="shipped")
    itself = scene.hub.wait("k", rule=SHIPPED)
    assert by_name.rule == itself.rule == "shipped"
    assert by_name.within_ms == 1_000
    scene.hub.register(sj.Rule("shipped", opens="order", until="paid", within=50))
    new = scene.hub.wait("k", rule="shipped")
    assert scene.signal("k", "paid") == 1
    assert (new.done(), itself.done()) == (True, False)
    with pytest.raises(sj.RuleError, match="which says both itself"):
        scene.hub.wait("k", "paid", rule="shipped")


def test_numbers_stay_exact(scene: RemoteScene) -> None:
    many = Decimal("0.30000000000000000001")
    scene.wait("k", sj.total("coin", at_least=many), id="w")
    assert scene.signal("k", "coin", value=Decimal("0.3")) == 0
    assert scene.signal("k", "coin", value=Decimal("0.00000000000000000001")) == 1
    scene.wait("l", rule=sj.Rule("funded", opens="o", until=sj.total("coin", at_least=many), within=100))
    assert scene.signal("l", "coin", value=0.3) == 0


def test_thousands_of_waits_are_one_request(scene: RemoteScene) -> None:
    asked = scene.hub._transport.ask
    paths: list[str] = []
    scene.hub._transport.ask = lambda method, path, *a, **k: (paths.append(path), asked(method, path, *a, **k))[1]  # type: ignore[method-assign, assignment]
    waits = scene.hub.wait_many(map(str, range(5_000)), "paid", 100, payloads=range(5_000))
    assert paths == ["/v1/batch?atomic=true"]
    assert [wait.payload for wait in waits] == list(range(5_000))
    assert scene.hub.signal_many([(str(i), "paid") for i in range(100)]) == 100
    assert len(scene.hub.list()) == 4_900


def test_of_many_all_are_there_or_none(scene: RemoteScene) -> None:
    scene.hub.wait("x", "paid", 100, id="taken")
    with pytest.raises(sj.IdTakenError, match="'taken' belongs to another wait"):
        scene.hub.wait_many(["a", "b", "c"], "paid", 100, ids=["a", "taken", "c"])
    assert [wait.id for wait in scene.hub.list()] == ["taken"]
    scene.hub.wait("coins", sj.total("coin", at_least=10), 100)
    with pytest.raises(sj.RuleError):
        scene.hub.signal_many([("x", "paid"), ("coins", "coin")])
    assert scene.hub.pending == 2


def test_more_than_one_batch_may_have_is_refused_and_says_how_many_may(scene: RemoteScene, monkeypatch: Any) -> None:
    monkeypatch.setattr("sojourn.service.routes.atomic.MOST_LINES", 3)
    with pytest.raises(sj.ConfigError, match="4 lines; an atomic batch has at most 3"):
        scene.hub.wait_many(list("abcd"), "paid", 100)
    assert scene.hub.pending == 0


def test_outcomes_are_read_from_a_cursor_in_pages_and_waited_for(scene: RemoteScene, monkeypatch: Any) -> None:
    monkeypatch.setattr("sojourn.service.client.verbs.PAGE", 2)
    scene.hub.wait_many(list("abcde"), "paid", 10)
    scene.advance(100)
    assert [outcome.number for outcome in scene.hub.outcomes()] == [1, 2, 3, 4, 5]
    assert [outcome.key for outcome in scene.hub.outcomes(after=3)] == ["d", "e"]
    following = scene.hub.outcomes(after=5, timeout=GUARD_S)
    scene.hub.wait("f", "paid", 10)
    timer = threading.Timer(0.01, scene.advance, (100,))
    timer.start()
    assert next(following).key == "f"
    timer.join()
    with pytest.raises(sj.ConfigError, match="after=-1"):
        scene.hub.outcomes(after=-1)


def test_pending_waits_are_listed_soonest_deadline_first(scene: RemoteScene) -> None:
    for wait_id, within in (("late", 300), ("soon", 100), ("later", 400)):
        scene.hub.wait("k", "paid", within, id=wait_id)
    assert [wait.id for wait in scene.hub.list("k")] == ["soon", "late", "later"]
    assert [wait.id for wait in scene.hub.list(due_before=300)] == ["soon"]


def test_ids_with_every_character_are_found_again(scene: RemoteScene) -> None:
    for wait_id in ("a/b", "a b", "ä€", "%2F", "?x=1", "..", ".", "a#b", "a\nb", "a+b", 'a"b'):
        wait = scene.hub.wait("k/ä", "paid", "1 h", id=wait_id)
        assert scene.hub.get(wait_id) is wait
        assert scene.hub.explain(wait_id).startswith("pending")
        assert scene.hub.extend(wait_id, "2 h")
        assert scene.hub.cancel(wait_id)
    assert scene.hub.get("unknown") is None
    assert scene.hub.explain("unknown") == "there is no wait 'unknown', or no longer"
    assert not scene.hub.cancel("unknown")
    assert not scene.hub.extend("unknown", 1)


def test_handles_are_made_by_clients_only_and_not_copied(scene: RemoteScene) -> None:
    with pytest.raises(TypeError, match="is made by a hub"):
        RemoteWait()
    with pytest.raises(TypeError, match="cannot be copied"):
        scene.hub.wait("k", "paid", 1).__reduce_ex__(2)
    with pytest.raises(TypeError, match="cannot be copied"):
        scene.hub.__reduce_ex__(2)
    with pytest.raises(sj.ConfigError, match="the service has it"):
        _ = scene.hub.timer


def test_an_error_of_a_callback_reaches_the_handler_and_the_stream_goes_on(scene: RemoteScene) -> None:
    def fail(wait: Any) -> None:
        raise KeyError(wait.id)

    async def nobody_runs(wait: Any) -> None: ...

    scene.wait("k", callback=fail)
    scene.wait("k", callback=nobody_runs)
    scene.wait("k", id="last")
    scene.signal("k", "paid")
    assert [type(error) for _, error in scene.errors] == [KeyError, TypeError]
    assert scene.told == [("last", "completed", 0)]


def test_tokens_and_scopes_are_asked_for(tmp_path: Path) -> None:
    tokens = Tokens.parse("reader read " + "r" * 32 + "\nwriter write " + "w" * 32)
    with local_service(tmp_path, tokens=tokens) as local:
        with sj.connect(local.url) as nobody, pytest.raises(sj.NotAllowedError, match="there is no token"):
            nobody.signal("k", "paid")
        with sj.connect(local.url, token="r" * 32) as reader:
            assert reader.list() == []
            with pytest.raises(sj.NotAllowedError, match="needs 'write'"):
                reader.signal("k", "paid")
        with sj.connect(local.url, token="w" * 32) as writer:
            assert writer.wait("k", "paid", 100, callback=print).rule == "wait"
        with sj.connect(local.url, token="x" * 32) as stranger, pytest.raises(PermissionError):
            stranger.wait("k", "paid", 100).result(0)


@pytest.mark.parametrize(
    ("status", "problem", "kind"),
    [
        (409, {"error": "IdTakenError", "detail": "d"}, sj.IdTakenError),
        (410, {"error": "OutcomesGoneError", "detail": "d", "resume_after": 7}, sj.OutcomesGoneError),
        (422, {"error": "RuleError", "detail": "d", "field": "until"}, sj.RuleError),
        (422, {"detail": "d"}, sj.RuleError),
        (429, {"error": "HubFullError", "detail": "d"}, sj.HubFullError),
        (503, {"error": "DiskError", "detail": "d"}, sj.DiskError),
        (401, {"detail": "d"}, sj.NotAllowedError),
        (404, {"detail": "d"}, sj.ConfigError),
        (500, {"detail": "d"}, sj.UnreachableError),
        (500, {"error": "SystemExit", "detail": "d"}, sj.UnreachableError),
        (400, {"error": "__doc__"}, sj.ConfigError),
    ],
)
def test_what_a_service_refuses_is_what_a_hub_would_raise(status: int, problem: Any, kind: type[Exception]) -> None:
    error = error_of(status, problem)
    assert type(error) is kind
    assert getattr(error, "resume_after", None) in (None, 7)


def test_the_client_needs_the_standard_library_only() -> None:
    program = (
        "import sys\n"
        "for name in ('starlette', 'uvicorn', 'uvloop', 'h11', 'httptools', 'httpx', 'typer', 'numpy', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "import sojourn as sj\n"
        "assert 'http.client' not in sys.modules\n"
        "sj.connect('http://127.0.0.1:1').close()\n"
        "sj.connect_async('http://127.0.0.1:1').close()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_callback_that_wants_to_leave_keeps_nobody_from_hearing_what_follows(
    scene: RemoteScene, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(wait: Any) -> None:
        raise SystemExit

    first = scene.wait("a", callback=leave)
    scene.wait("b", id="b")
    assert scene.hub.signal_many([("a", "paid"), ("b", "paid")]) == 2
    assert (first.outcome, scene.told) == ("completed", [("b", "completed", 0)])
    assert "raised an exit in the thread of the client" in caplog.text
