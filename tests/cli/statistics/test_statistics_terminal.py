"""Nothing that a client names commands the terminal, whichever statistic shows it."""

import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.cli.diagnostics import INTERRUPTED
from kdissect.session.events import Events
from tests.support.console import TXN, run_on_terminal
from tests.support.messages.traffic import Conversation, request, response
from tests.support.packets.pcaps import write_pcap

COLOUR = re.compile("\x1b\\[[0-9;]*m")
NAME = "evil\x1b]0;owned\x07\x9b2J\r\n\u202e".encode()
TEXT = struct.pack(">h", len(NAME)) + NAME
ONE = struct.pack(">i", 1)
DENIED = struct.pack(">h", 29)  # TOPIC_AUTHORIZATION_FAILED


def exchanges() -> list[tuple[int, int, bytes, bytes]]:
    """Return the key, version, request and response body."""
    return [
        (3, 0, ONE + TEXT, ONE + ONE + TEXT + struct.pack(">i", 9092) + ONE + DENIED + TEXT + bytes(4)),
        (10, 0, TEXT, bytes(2) + ONE + TEXT + struct.pack(">i", 9092)),
        (11, 0, TEXT + struct.pack(">i", 1000) + struct.pack(">h", 0) + TEXT + ONE + TEXT + ONE + b"x",
         bytes(2) + ONE + TEXT + TEXT + TEXT + bytes(4)),
        (8, 0, TEXT + ONE + TEXT + ONE + bytes(4) + struct.pack(">q", 5) + TEXT,
         ONE + TEXT + ONE + bytes(4) + bytes(2)),
        (8, 0, TEXT + ONE + TEXT + ONE + bytes(4) + bytes(8) + TEXT, ONE + TEXT + ONE + bytes(4) + bytes(2)),
        (0, 0, struct.pack(">hi", 1, 1000) + ONE + TEXT + ONE + bytes(4) + ONE + b"x",
         ONE + TEXT + ONE + bytes(4) + DENIED + bytes(8)),
        (22, 0, TEXT + struct.pack(">i", 1000), bytes(4) + bytes(2) + bytes(8) + bytes(2)),
        (26, 0, TEXT + bytes(8) + bytes(2) + b"\1", bytes(4) + struct.pack(">h", 47)),
        (1, 0, struct.pack(">iii", -1, 1, 1) + ONE + TEXT + ONE + bytes(4) + bytes(8) + ONE,
         ONE + TEXT + ONE + bytes(4) + DENIED + bytes(8) + bytes(4)),
        (20, 0, ONE + TEXT + struct.pack(">i", 1000), ONE + TEXT + DENIED),
        (17, 1, TEXT, struct.pack(">h", 33) + ONE + TEXT),  # UNSUPPORTED_SASL_MECHANISM
    ]  # fmt: skip


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    talk = Conversation().handshake()
    for number, (key, version, asked, answered) in enumerate(exchanges()):
        talk.client(request(key, version, number, asked, client_id=NAME))
        talk.broker(response(number, answered))
    return write_pcap(tmp_path / "hostile.pcap", talk.packets)


COMMANDS = [
    "stats", "stats --by client_id,topic,group --over-time", "stats --by partition,error", "topics",
    "topics --sizes", "groups", "groups --group *", "producers", "fetch-sessions", "logins", "changes",
    "access", "offsets", "delay", "mirror", "upgrade --target 4.0 --fail-on never --all",
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("line", COMMANDS)
def test_nothing_from_the_wire_commands_the_terminal(line: str, hostile: str) -> None:
    name, *options = line.split()
    ran = run_on_terminal([name, hostile, "--port", "9092", *options])
    assert (ran.code, ran.err) == (0, "")
    if line not in ("stats", "stats --by partition,error"):
        assert "evil" in ran.out
    dangerous = set(map(chr, [*range(32), *range(0x7F, 0xA0), 0x202E])) - {"\n"}
    assert not dangerous & set(COLOUR.sub("", ran.out))
    ran = run_on_terminal([name, hostile, "--port", "9092", "--format", "json", *options])
    assert json.loads(ran.out)
    assert not dangerous & set(ran.out)


@pytest.mark.parametrize(
    "line",
    ["stats --by client_id", "topics", "groups", "producers", "fetch-sessions", "upgrade --target 4.0 --all"],
)
def test_control_c_prints_what_was_counted(
    line: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = Dissection.batches

    def stopped(dissection: Dissection) -> Iterator[Events]:
        count = 0
        for events in whole(dissection):
            yield events
            count += len(events)
            if count > 50:
                raise KeyboardInterrupt

    monkeypatch.setattr(Dissection, "batches", stopped)
    name, *options = line.split()
    assert main([name, TXN, *options]) == INTERRUPTED
    assert "rdk-2.16.0" in capfd.readouterr().out
