"""`sojourn serve` as a process: it starts, streams, drains, refuses, and comes back after kill -9."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.running import Running, Stream, running
from sojourn import Hub
from sojourn.durable import verify

PAID = {"key": "order-1", "until": "paid", "within": "30 min"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("service") / "data", "--clock", "manual", "--sync", "os") as service:
        yield service


def test_outcomes_come_on_a_stream_as_they_are_told_and_go_on_after_the_last_event(service: Running) -> None:
    last = service.ask("GET", "/v1/stats")[1]["last_number"]
    stream = Stream(service, f"/v1/outcomes?after={last}")
    for i in range(3):
        service.ask("PUT", f"/v1/waits/s{i}", {"key": f"s{i}", "until": "paid", "within": "1 h"})
        service.ask("POST", "/v1/signals", {"key": f"s{i}", "kind": "paid"})
    assert [event["operation_id"] for event in stream.events(3)] == ["s0", "s1", "s2"]
    stream.close()
    later = Stream(service, headers=f"last-event-id: {last + 1}\r\n")
    assert [event["number"] for event in later.events(2)] == [last + 2, last + 3]
    later.close()


def test_a_stream_of_one_rule_has_the_others_left_out(service: Running) -> None:
    service.ask("PUT", "/v1/rules/mine", {"until": "paid", "within": "1 h"})
    for i, plan in enumerate(({"until": "paid", "within": "1 h"}, {"rule": "mine"})):
        service.ask("PUT", f"/v1/waits/m{i}", {"key": "m", **plan})
    service.ask("POST", "/v1/signals", {"key": "m", "kind": "paid"})
    stream = Stream(service, "/v1/outcomes?rule=mine")
    assert [event["operation_id"] for event in stream.events(1)] == ["m1"]
    stream.close()


def test_a_long_poll_answers_when_something_is_told(service: Running) -> None:
    last = service.ask("GET", "/v1/stats")[1]["last_number"]
    answers: list[object] = []
    polling = threading.Thread(
        target=lambda: answers.append(service.ask("GET", f"/v1/outcomes?after={last}&wait=30s")[1])
    )
    polling.start()
    service.ask("PUT", "/v1/waits/p", {"key": "p", "until": "paid", "within": "1 h"})
    service.ask("POST", "/v1/signals", {"key": "p", "kind": "paid"})
    polling.join()
    (answer,) = answers
    assert isinstance(answer, dict)
    assert (answer["last"], [outcome["key"] for outcome in answer["outcomes"]]) == (last + 1, ["p"])


def test_time_moved_by_hand_expires_what_is_due_on_the_stream(service: Running) -> None:
    last = service.ask("GET", "/v1/stats")[1]["last_number"]
    opened = service.ask("PUT", "/v1/waits/e", {"key": "e", "until": "paid", "within": "5 min"})[1]
    stream = Stream(service, f"/v1/outcomes?after={last}")
    service.ask("POST", "/v1/clock/advance", {"by": "6 min"})
    (event,) = stream.events(1)
    assert (event["outcome"], event["at"]) == ("expired", opened["deadline"])
    stream.close()


def test_a_request_in_pieces_and_two_requests_in_one_piece_are_answered_in_order(service: Running) -> None:
    body = json.dumps({"key": "q", "until": "paid", "within": "1 h"}).encode()
    one = b"PUT /v1/waits/q1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    two = b"GET /v1/waits/q1 HTTP/1.1\r\nhost: localhost\r\n\r\n"
    three = one.replace(b"q1", b"q2")
    with service.connect() as connection:
        for i in range(len(one)):
            connection.sendall(one[i : i + 1])
        connection.sendall(two + three + two)
        answers = connection.makefile("rb")
        statuses = []
        for _ in range(4):
            statuses.append(int(answers.readline().split()[1]))
            length = 0
            while line := answers.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            answers.read(length)
    assert statuses == [201, 200, 201, 200]


def test_what_is_not_http_and_who_goes_away_harm_nobody(service: Running) -> None:
    for nonsense in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"PUT /v1/waits/x HTTP/1.1\r\ncontent-length: zz\r\n\r\n",
    ):
        with service.connect() as connection:
            connection.sendall(nonsense)
    with service.connect() as connection:
        connection.sendall(b"PUT /v1/waits/half HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
    for _ in range(20):
        Stream(service).close()
    assert service.ask("GET", "/v1/waits/half")[0] == 404
    assert service.ask("GET", "/readyz")[0] == 200


def test_whoever_takes_for_ever_to_send_a_request_is_told_so(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--max-request", "1") as service:
        stream, slow = Stream(service), service.connect()
        slow.sendall(b"PUT /v1/waits/a HTTP/1.1\r\nhost: loc")
        assert b" 408 " in slow.recv(100)
        slow.close()
        service.ask("PUT", "/v1/waits/b", PAID)
        service.ask("POST", "/v1/signals", {"key": "order-1", "kind": "paid"})
        assert [event["operation_id"] for event in stream.events(1)] == ["b"]
        stream.close()


def test_a_head_without_end_is_cut_off(service: Running) -> None:
    with service.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        answer = b""
        try:
            for i in range(10_000):
                connection.sendall(b"x-%d: %b\r\n" % (i, b"y" * 1_000))
            answer = connection.recv(100)
        except OSError:  # closed while we were sending
            pass
    assert not answer or b" 431 " in answer
    assert service.ask("GET", "/readyz")[0] == 200


def test_an_id_with_a_line_break_puts_nothing_into_headers_or_the_log(service: Running) -> None:
    status, answer = service.ask("GET", "/v1/waits/a%0d%0aset-cookie:%20x", headers={"x-request-id": "a b"})
    assert (status, "set-cookie" in answer["detail"]) == (404, True)
    assert answer["request_id"] != "a b"


def test_sigterm_ends_streams_and_long_polls_and_leaves_in_peace(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        service.ask("PUT", "/v1/waits/a", PAID)
        stream = Stream(service)
        polls: list[object] = []
        polling = threading.Thread(target=lambda: polls.append(service.ask("GET", "/v1/waits/a?wait=60s")))
        polling.start()
        while service.ask("GET", "/metrics")[1].find("sojourn_http_streams 1.0") < 0:
            pass
        assert service.stop() == 0
        polling.join()
        assert stream.rest().endswith(b"0\r\n\r\n")  # its end, not only that of the connection
        assert not [line for line in service.said if "timeout" in line]
        stream.close()
    with Hub("again", data=tmp_path / "data") as hub:
        assert [wait.id for wait in hub.list()] == ["a"]


def test_after_kill_9_everything_that_was_answered_is_there_and_verifies(tmp_path: Path) -> None:
    service = Running(tmp_path / "data").become_ready()
    for i in range(20):
        assert service.ask("PUT", f"/v1/waits/w{i}", {**PAID, "key": f"k{i}"})[0] == 201
    service.ask("POST", "/v1/signals", {"key": "k0", "kind": "paid"})
    service.kill()
    with running(tmp_path / "data") as again:
        assert again.ask("GET", "/v1/stats")[1]["pending"] == 19
        assert again.ask("GET", "/v1/waits/w0")[1]["status"] == "completed"
        assert again.ask("PUT", "/v1/waits/w5", {**PAID, "key": "k5"})[0] == 200
        assert verify(tmp_path / "data").is_same


def test_a_copy_in_virtual_time_leaves_production_alone(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        service.ask("PUT", "/v1/waits/a", PAID)
        with running(None, "--copy", str(tmp_path / "data"), "--clock", "manual") as copy:
            copy.ask("POST", "/v1/clock/advance", {"by": "1 day"})
            assert copy.ask("GET", "/v1/waits/a")[1]["status"] == "expired"
        assert service.ask("GET", "/v1/waits/a")[1]["status"] == "pending"


def test_a_folder_that_has_an_owner_is_refused_and_says_who(tmp_path: Path) -> None:
    with running(tmp_path / "data"):
        second = Running(tmp_path / "data")
        second.process.wait(30)
        assert second._finish() == 3
        assert "close that hub first" in "\n".join(second.said)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--host", "0.0.0.0"], "there are no tokens"),
        (["--tls-cert", "c.pem"], "belong together"),
        (["--tokens", "nowhere"], "cannot be read"),
        (["--max-body", "0"], "body_bytes"),
        (["--host", "192.0.2.1", "--tls-elsewhere", "--tokens", "TOKENS"], "cannot listen"),
        (["--host", "0.0.0.0", "--tokens", "TOKENS"], "there is no TLS"),
    ],
)
def test_what_cannot_be_served_safely_is_refused_at_the_start(arguments: list[str], why: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("orders write 0123456789abcdef0123\n")
    given = [str(tokens) if argument == "TOKENS" else argument for argument in arguments]
    with pytest.raises(AssertionError, match=why):
        Running(tmp_path / "data", *given)
