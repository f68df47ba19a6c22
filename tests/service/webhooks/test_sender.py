"""One POST over real sockets on loopback: what is sent, what is heard, and receivers that misbehave."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sojourn.service.webhooks.guard import Guard, target_of
from sojourn.service.webhooks.sender import Answer, Sender

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + await reader.readexactly(length)


class Server:
    """Counts connections and keeps requests."""

    def __init__(self, answer: bytes = OK, behave: Behave | None = None) -> None:
        self.answer, self._behave = answer, behave
        self.connections = 0
        self.requests: list[bytes] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                self.requests.append(await read_request(reader))
                if self._behave is not None:
                    await self._behave(reader, writer)
                writer.write(self.answer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def __aenter__(self) -> Server:
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=getattr(self, "context", None))
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self.server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.sleep(0)

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


def guard(**options: Any) -> Guard:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    return Guard(["127.0.0.1"], resolve, **options)


def played(server: Server, act: Callable[[Sender, Any], Awaitable[Any]], timeout_s: float = 30, **options: Any) -> Any:
    async def main() -> Any:
        async with server:
            sender = Sender(guard(), timeout_s, **options)
            try:
                return await act(sender, target_of(f"http://receiver.example.org:{server.port}/hook?a=b"))
            finally:
                sender.close()
                await asyncio.sleep(0)

    return asyncio.run(main())


def test_a_message_is_posted_to_the_judged_address_under_the_name_of_its_host() -> None:
    server = Server()
    answer = played(server, lambda sender, target: sender.post(target, {"webhook-id": "m"}, b"body"))
    assert answer == Answer(200)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0] == b"post /hook?a=b http/1.1"
    assert f"host: receiver.example.org:{server.port}".encode() in lines
    assert b"webhook-id: m" in lines
    assert body == b"body"


def test_a_connection_is_kept_for_the_next_message() -> None:
    server = Server()

    async def act(sender: Sender, target: Any) -> list[Answer]:
        return [await sender.post(target, {}, b"1"), await sender.post(target, {}, b"2")]

    assert played(server, act) == [Answer(200), Answer(200)]
    assert server.connections == 1


def test_a_connection_that_the_receiver_closed_meanwhile_is_made_anew() -> None:
    server = Server()

    async def act(sender: Sender, target: Any) -> Answer:
        await sender.post(target, {}, b"1")
        server.hang_up()
        return await sender.post(target, {}, b"2")

    assert played(server, act) == Answer(200)
    assert server.connections == 2


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", "answered 500"),
        (
            b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            "answered 302 (redirects are not followed)",
        ),
        (b"this is not HTTP\r\n\r\n", "RemoteProtocolError"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 200_000, "RemoteProtocolError"),
    ],
)
def test_what_is_no_success_says_why(answer: bytes, reason: str) -> None:
    found = played(Server(answer), lambda sender, target: sender.post(target, {}, b""))
    assert not found.is_success
    assert found.reason.startswith(reason)


def test_a_receiver_that_hangs_up_without_an_answer_has_not_got_it() -> None:
    async def hang_up(reader: Any, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    found = played(Server(behave=hang_up), lambda sender, target: sender.post(target, {}, b""))
    assert (found.status, found.is_success) == (None, False)


def test_a_receiver_that_drips_is_given_up_in_time() -> None:
    async def drip(reader: Any, writer: asyncio.StreamWriter) -> None:
        for byte in OK[:10]:
            writer.write(bytes([byte]))
            await writer.drain()
        await asyncio.Event().wait()

    found = played(Server(behave=drip), lambda sender, target: sender.post(target, {}, b""), timeout_s=0.05)
    assert found == Answer(None, "no answer within 0.05 s")


def test_an_endless_answer_is_not_read_to_its_end_and_its_status_counts() -> None:
    endless = b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n" + b"x" * 200_000
    server = Server(endless)

    async def act(sender: Sender, target: Any) -> list[Answer]:
        return [await sender.post(target, {}, b"1"), await sender.post(target, {}, b"2")]

    assert played(server, act) == [Answer(200), Answer(200)]
    assert server.connections == 2


@pytest.mark.parametrize(("text", "seconds"), [(b"120", 120), (b"soon", 0), (b"9" * 20, 0)])
def test_retry_after_is_read_if_it_is_a_number_of_seconds(text: bytes, seconds: int) -> None:
    answer = b"HTTP/1.1 503 Busy\r\nretry-after: " + text + b"\r\ncontent-length: 0\r\n\r\n"
    found = played(Server(answer), lambda sender, target: sender.post(target, {}, b""))
    assert (found.status, found.retry_after_s) == (503, seconds)


def test_a_name_that_points_inside_later_is_refused_then() -> None:
    """DNS rebinding: public when it was registered, private when it is used."""

    async def main() -> Answer:
        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        return await Sender(Guard(resolve=resolve)).post(target_of("https://example.org/"), {}, b"")

    answer = asyncio.run(main())
    assert "which is not a public address" in str(answer.error)


def test_nobody_there_is_an_error_that_says_so() -> None:
    async def main() -> Answer:
        async with Server() as server:
            port = server.port
        return await Sender(guard()).post(target_of(f"http://example.org:{port}/"), {}, b"")

    assert asyncio.run(main()).status is None


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not here")
    folder = tmp_path_factory.mktemp("certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=example.org"]
    command += ["-addext", "subjectAltName=DNS:example.org", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(("host", "is_trusted"), [("example.org", True), ("other.org", False)])
def test_the_certificate_is_checked_against_the_name_though_the_address_is_pinned(
    certificate: Path, host: str, is_trusted: bool
) -> None:
    server = Server()
    server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    async def main() -> Answer:
        async with server:
            sender = Sender(guard(), 30, lambda: ssl.create_default_context(cafile=str(certificate / "cert.pem")))
            answer = await sender.post(target_of(f"https://{host}:{server.port}/"), {}, b"")
            sender.close()
            await asyncio.sleep(0)
            return answer

    answer = asyncio.run(main())
    assert answer.is_success is is_trusted
    assert is_trusted or "certificate" in str(answer.error).lower()
