"""Messages to webhooks: their forms, and that none arrives twice, whatever the server does."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from kdissect.recorder import messages as messages_module
from kdissect.recorder import webhook as webhook_module
from kdissect.recorder.folder import Folder
from kdissect.recorder.incident import Incident
from kdissect.recorder.messages import Messages, message_of
from kdissect.recorder.symptom import CAUSE, Symptom
from kdissect.recorder.webhook import parse_webhook, read_secret, signature
from tests.support.http_server import serving, without_proxies
from tests.support.live import free_port
from tests.support.patience import PATIENCE_S

NOW = 1_700_000_000_000_000_000
SLOW = Symptom(
    CAUSE, "slow-broker", "delays", "A broker answers slowly", "Broker b:1 is slow.", ("client vault",),
    NOW, NOW, 3,
)  # fmt: skip


class Receiver:
    """A server that answers with the given statuses, then with 204; `wait` holds its answers back."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.raw.append(data)
                receiver.headers.append(dict(self.headers))
                receiver.bodies.append(json.loads(data))
                receiver.may_answer.wait(PATIENCE_S)
                try:
                    self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                    self.end_headers()
                except OSError:
                    return  # who asked is not there any more

            def log_message(self, *_: object) -> None:
                return

        return Handler


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_proxies(monkeypatch)
    monkeypatch.setattr(messages_module, "_PAUSES_S", (0.01,))
    return None


def incident(number: int = 1) -> Incident:
    return Incident.of(SLOW, NOW + number * 10**9, 10**9, 10**9)


class Sender:
    """The messages of a recorder in a folder."""

    def __init__(self, folder: Path, url: str, key: str = "") -> None:
        self.folder = Folder(str(folder))
        self.said: list[str] = []
        folder.mkdir(exist_ok=True)
        self.messages = Messages(self.folder, [parse_webhook(url)], key, True, self.said.append)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_message_arrives_once_also_after_a_restart(tmp_path: Path) -> None:
    receiver = Receiver()
    with serving(receiver.handler()) as url:
        for _ in range(2):
            sender = Sender(tmp_path, url)
            sender.messages.announce(incident())
            sender.messages.announce(incident())
            sender.messages.close()
    (body,) = receiver.bodies
    assert body["id"].startswith(incident().id)
    assert body["incident"]["problems"][0]["name"] == "slow-broker"
    assert (receiver.headers[0]["Idempotency-Key"], sender.said) == (body["id"], [])


@pytest.mark.parametrize("statuses", [(500,), (500, 503, 429)])
def test_a_refused_message_is_sent_again(tmp_path: Path, statuses: tuple[int, ...]) -> None:
    receiver = Receiver(*statuses)
    with serving(receiver.handler()) as url:
        sender = Sender(tmp_path, url)
        sender.messages.announce(incident())
        until(lambda: len(receiver.bodies) == len(statuses) + 1)
        sender.messages.close()
    assert len({body["id"] for body in receiver.bodies}) == 1
    assert len(sender.said) == 1
    assert "HTTP status 500; the message is sent again later" in sender.said[0]


def test_what_is_wrong_for_ever_is_not_sent_again(tmp_path: Path) -> None:
    receiver = Receiver(404)
    with serving(receiver.handler()) as url:
        sender = Sender(tmp_path, url)
        sender.messages.announce(incident())
        until(lambda: bool(sender.said))
        sender.messages.close()
    assert len(receiver.bodies) == 1
    assert "HTTP status 404; the message is not sent again" in sender.said[0]


def test_a_server_that_is_down_gets_the_message_later_from_the_next_recorder(tmp_path: Path) -> None:
    port = free_port()
    sender = Sender(tmp_path, f"http://127.0.0.1:{port}")
    began = time.monotonic()
    sender.messages.announce(incident())
    until(lambda: bool(sender.said))
    sender.messages.close()
    assert time.monotonic() - began < PATIENCE_S
    text = sender.folder.messages_path.read_text()
    assert incident().id in text
    receiver = Receiver()
    with serving(receiver.handler()) as url:
        known = json.loads(text)
        (row,) = known.values()
        sender.folder.messages_path.write_text(json.dumps({parse_webhook(url).identity: row}))
        Sender(tmp_path, url).messages.close()
    assert [body["id"] for body in receiver.bodies] == [row["waiting"][0]["id"]]


def test_a_slow_server_blocks_nothing_and_gets_no_message_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_module, "TIMEOUT_S", 0.5)
    receiver = Receiver()
    receiver.may_answer.clear()
    with serving(receiver.handler()) as url:
        sender = Sender(tmp_path, url)
        for number in range(3):
            sender.messages.announce(incident(number))
        assert len(receiver.bodies) < 3  # nobody waited
        until(lambda: len(receiver.bodies) == 3)
        until(lambda: len(sender.said) == 3)
        receiver.may_answer.set()
        sender.messages.close()
    assert len({body["id"] for body in receiver.bodies}) == len(receiver.bodies) == 3
    assert all("no answer in time; the message is not sent again" in line for line in sender.said)


def test_messages_are_signed(tmp_path: Path) -> None:
    receiver = Receiver()
    with serving(receiver.handler()) as url:
        sender = Sender(tmp_path, url, "s3cret")
        sender.messages.announce(incident())
        sender.messages.close()
    (headers,) = receiver.headers
    expected = signature("s3cret", headers["X-Kdissect-Timestamp"], receiver.raw[0])
    assert headers["X-Kdissect-Signature"] == f"sha256={expected}"
    assert b"s3cret" not in receiver.raw[0]
    assert "s3cret" not in sender.folder.messages_path.read_text()


def test_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = message_of(incident(), "/var/lib/kdissect/incidents/x", True)
    slack = parse_webhook("slack=https://hooks.slack.com/services/T0/B0/x").body(message)
    assert slack == {"text": message["text"]}
    assert "A broker answers slowly. Broker b:1 is slow. Incident: /var/lib" in message["text"]
    teams = parse_webhook("teams=https://example.com/w").body(message)
    assert teams["attachments"][0]["content"]["body"][0]["text"] == message["text"]
    monkeypatch.setenv("PD_KEY", "r0uting")
    webhook = parse_webhook("pagerduty=env:PD_KEY")
    event = webhook.body(message)
    assert (event["routing_key"], event["event_action"], event["dedup_key"]) == (
        "r0uting", "trigger", message["id"],
    )  # fmt: skip
    assert event["payload"]["severity"] == "warning"
    assert "r0uting" not in webhook.name + webhook.identity


def test_messages_of_redacted_incidents_have_no_names() -> None:
    text = json.dumps(message_of(incident(), "/x", False))
    assert "vault" not in text
    assert "b:1" not in text
    assert "slow-broker" in text


def test_secrets_come_from_files_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("abc\n")
    monkeypatch.setenv("KEY", "def")
    assert (read_secret(f"@{tmp_path / 'key'}"), read_secret("env:KEY")) == ("abc", "def")
    with pytest.raises(ValueError, match="list of processes"):
        read_secret("abc")
    with pytest.raises(ValueError, match="no secret"):
        read_secret("env:NOT_SET")
    with pytest.raises(ValueError, match="begins with http"):
        parse_webhook("ftp://example.com")
