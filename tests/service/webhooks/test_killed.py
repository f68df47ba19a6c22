"""A service that is killed while it delivers, over real sockets: the receiver hears of every outcome."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import sojourn as sj
from service.running import Running
from sojourn.service.webhooks import verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
GUARD_S = 60


class Receiver(BaseHTTPRequestHandler):
    """Refuses every seventh message the first time."""

    protocol_version = "HTTP/1.1"
    numbers: list[int]
    forged: list[str]
    refused: set[int]
    news: threading.Condition

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        number = json.loads(body)["data"]["number"]
        headers = {name.lower(): value for name, value in self.headers.items()}
        status = 200
        with self.news:
            if not verify(SECRET, headers, body, now_s=int(headers["webhook-timestamp"])):
                self.forged.append(headers["webhook-id"])
            if number % 7 == 0 and number not in self.refused:
                self.refused.add(number)
                status = 503
            else:
                self.numbers.append(number)
            self.news.notify_all()
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


def test_a_receiver_hears_of_every_outcome_though_the_service_is_killed(tmp_path: Path) -> None:
    kind: Any = type(
        "Kind", (Receiver,), {"numbers": [], "forged": [], "refused": set(), "news": threading.Condition()}
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            kill_and_go_on(tmp_path, f"http://127.0.0.1:{server.server_port}/", kind)
        finally:
            server.shutdown()
    assert kind.forged == []
    firsts = [number for number in dict.fromkeys(kind.numbers) if number % 7]
    assert firsts == sorted(firsts)


def await_numbers(kind: Any, count: int) -> None:
    with kind.news:
        assert kind.news.wait_for(lambda: len(set(kind.numbers)) >= count, GUARD_S), kind.numbers


def kill_and_go_on(folder: Path, url: str, kind: Any) -> None:
    for rounds in range(2):
        service = Running(folder, "--webhooks-to", "127.0.0.1").become_ready()
        try:
            if not rounds:
                assert service.ask("POST", "/v1/webhooks", {"url": url, "secret": SECRET, "id": "crm"})[0] == 201
            with sj.connect(service.address) as hub:
                keys = [f"{rounds}-{i}" for i in range(50)]
                hub.wait_many(keys, "paid", "1 h", ids=keys)
                assert hub.signal_many([(key, "paid") for key in keys]) == 50
                await_numbers(kind, 50 * rounds + 5)  # some are on their way
        finally:
            service.kill()
    service = Running(folder, "--webhooks-to", "127.0.0.1").become_ready()
    try:
        service.ask("POST", "/v1/webhooks/crm/retry")
        await_numbers(kind, 100)
    finally:
        service.stop()
