"""Who may do what: tokens, scopes, other pages in a browser, TLS. Each line of the security checklist has a test."""

from __future__ import annotations

import json
import ssl
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from service.running import running
from service.scene import Scene, in_service
from sojourn import ConfigError
from sojourn.service.access.tokens import Tokens
from sojourn.service.settings import Settings

READ, WRITE, ADMIN = "r" * 20, "w" * 20, "a" * 20
TOKENS = Tokens.parse(f"grafana read {READ}; orders write {WRITE}\nops admin {ADMIN}  # for people")
PAID = {"key": "order-1", "until": "paid", "within": "30 min"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@in_service(tokens=TOKENS)
async def test_without_a_known_token_nothing_is_said(scene: Scene) -> None:
    for headers in ({}, bearer("x" * 20), {"authorization": f"Basic {WRITE}"}, bearer(WRITE + "x"), bearer("")):
        answer = await scene.ask("GET", "/v1/waits/a", headers=headers)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, 'Bearer realm="sojourn"')
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert (await scene.ask("GET", path)).status_code == 200


@in_service(tokens=TOKENS)
async def test_each_scope_includes_those_before_it_and_no_more(scene: Scene) -> None:
    asked = [("GET", "/v1/waits", None), ("PUT", "/v1/waits/a", PAID), ("POST", "/v1/waits:cancel", {"rule": "x"})]
    allowed = {READ: 1, WRITE: 2, ADMIN: 3}
    for token, count in allowed.items():
        for i, (method, path, body) in enumerate(asked):
            answer = await scene.ask(method, path, body, headers=bearer(token))
            assert (answer.status_code < 400) == (i < count), (token[0], path, answer.text)
            assert answer.status_code != 401


@in_service(tokens=TOKENS)
async def test_every_route_but_four_needs_a_token(scene: Scene) -> None:
    document = (await scene.ask("GET", "/openapi.json")).json()
    public = []
    for path, methods in document["paths"].items():
        for method in methods:
            answer = await scene.ask(method.upper(), path.replace("{", "").replace("}", ""), {})
            if answer.status_code != 401:
                public.append(path)
    assert public == ["/healthz", "/readyz", "/openapi.json"]


@in_service()
async def test_a_page_from_elsewhere_cannot_write_to_what_only_this_machine_reaches(scene: Scene) -> None:
    elsewhere = {"origin": "https://evil.example"}
    answer = await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "x"}, headers=elsewhere)
    assert (answer.status_code, answer.json()["title"]) == (403, "origin")
    rebound = await scene.ask("GET", "/v1/waits", headers={"host": "evil.example"})
    assert (rebound.status_code, rebound.json()["title"]) == (403, "host")
    own = await scene.ask("POST", "/v1/signals", {"key": "k", "kind": "x"}, headers={"origin": "http://localhost"})
    assert own.status_code == 200
    assert "access-control-allow-origin" not in own.headers


@in_service()
async def test_answers_are_not_guessed_at_and_not_kept(scene: Scene) -> None:
    for path in ("/v1/waits", "/nowhere", "/healthz"):
        answer = await scene.ask("GET", path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@in_service()
async def test_request_ids_are_kept_if_they_are_plain_and_made_otherwise(scene: Scene) -> None:
    assert (await scene.ask("GET", "/healthz", headers={"x-request-id": "abc-1"})).headers["x-request-id"] == "abc-1"
    made = (await scene.ask("GET", "/healthz", headers={"x-request-id": "a b\tc"})).headers["x-request-id"]
    assert len(made) == 32


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("orders write", "2 words"),
        ("orders write short", "at least 16"),
        (f"orders root {WRITE}", "scope 'root'"),
        (f"a read {READ}\na write {WRITE}", "name of 'a' is given twice"),
        (f"a read {READ}\nb write {READ}", "token of 'b' is given twice"),
        ("# nothing", "has no token"),
    ],
)
def test_a_bad_token_file_is_refused_and_its_tokens_are_not_shown(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        Tokens.parse(text)
    assert WRITE not in str(refused.value)
    assert WRITE not in repr(TOKENS)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
def test_a_public_address_needs_tokens_and_tls(host: str) -> None:
    with pytest.raises(ConfigError, match="no tokens"):
        Settings("data", host=host)
    with pytest.raises(ConfigError, match="no TLS"):
        Settings("data", host=host, tokens=TOKENS)
    assert Settings("data", host=host, tokens=TOKENS, tls_elsewhere=True).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.0.1"])
def test_this_machine_needs_neither(host: str) -> None:
    assert Settings("data", host=host).host == host


def test_tokens_guard_the_short_way_too_and_failures_are_logged_with_their_trace(tmp_path: Path) -> None:
    environment = {"SOJOURN_TOKENS": f"grafana read {READ}; orders write {WRITE}"}
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with running(tmp_path / "data", environment=environment) as service:
        assert service.ask("PUT", "/v1/waits/a", PAID)[0] == 401
        assert service.ask("PUT", "/v1/waits/a", PAID, bearer(READ))[0] == 403
        assert service.ask("PUT", "/v1/waits/b", PAID, bearer(READ) | {"traceparent": trace})[0] == 403
        assert service.ask("PUT", "/v1/waits/a", PAID, bearer(WRITE))[0] == 201
        service.stop()
    _, logged = [json.loads(line) for line in service.said if '"status": 403' in line]
    assert (logged["trace_id"], logged["path"]) == ("4bf92f3577b34da6a3ce929d0e0e4736", "/v1/waits/b")
    assert WRITE not in "\n".join(service.said)


def test_tls_is_served_with_a_certificate(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run(
        [*command, "-keyout", key, "-out", certificate, "-days", "1", *subject], check=True, capture_output=True
    )
    with running(tmp_path / "data", "--tls-cert", str(certificate), "--tls-key", str(key)) as service:
        assert service.address.startswith("https://")
        with urlopen(f"{service.address}/readyz", context=ssl.create_default_context(cafile=certificate)) as answer:
            assert json.load(answer)["status"] == "ready"


def test_connections_beyond_the_limit_are_told_so(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--max-connections", "2") as service:
        first, second = service.connect(), service.connect()
        for connection in (first, second):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            connection.recv(1)
        status, answer = service.ask("GET", "/healthz")
        assert (status, answer["title"]) == (503, "too many connections")
        first.close()
        second.close()
