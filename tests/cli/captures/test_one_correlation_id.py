"""A client that gives every request the correlation id 0 and wants some unanswered, as pykafka 2.8.0 does."""

import json
import struct
import zlib
from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.rules.judge import Judge
from tests.support.messages.traffic import CLIENT, Conversation, request, response
from tests.support.packets.pcaps import write_pcap

PRODUCE, FETCH = 0, 1
ROUNDS = 10
EACH = 3  # records of a round


def message(offset: int, value: bytes) -> bytes:
    """Return one message of format 0 (spec/001 "Message sets"), without a key."""
    body = struct.pack(">bbii", 0, 0, -1, len(value)) + value
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def produce(acks: int, offset: int) -> bytes:
    """Produce v0 request body."""
    records = message(offset, b"sent %d" % offset)
    head = struct.pack(">hii", acks, 1000, 1) + b"\0\1t" + struct.pack(">iii", 1, 0, len(records))
    return head + records


def produced(offset: int) -> bytes:
    """Produce v0 response body."""
    return struct.pack(">i", 1) + b"\0\1t" + struct.pack(">iihq", 1, 0, 0, offset)


def fetch(offset: int) -> bytes:
    """Fetch v0 request body."""
    return struct.pack(">iiii", -1, 100, 1, 1) + b"\0\1t" + struct.pack(">iiqi", 1, 0, offset, 1 << 20)


def fetched(offset: int) -> bytes:
    """Fetch v0 response body."""
    records = b"".join(message(offset + n, b"read %d" % (offset + n)) for n in range(EACH))
    head = struct.pack(">i", 1) + b"\0\1t" + struct.pack(">iihqi", 1, 0, 0, offset + EACH, len(records))
    return head + records


def recorded(folder: Path) -> str:
    talk = Conversation().handshake()
    for number in range(ROUNDS):
        for body in (produce(0, number), produce(1, number), produce(0, number)):
            talk.client(request(PRODUCE, 0, 0, body, b"pykafka"))
            if body[:2] == b"\0\1":
                talk.broker(response(0, produced(number)))
        talk.client(request(FETCH, 0, 0, fetch(number * EACH), b"pykafka"))
        talk.broker(response(0, fetched(number * EACH)))
    return write_pcap(folder / "one_id.pcap", talk.fin(CLIENT).packets)


def test_all_records_are_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    main(["records", "--format", "jsonl", recorded(tmp_path)])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    values = [row["value"] for row in rows if "read" in json.dumps(row["value"])]
    assert len(values) == ROUNDS * EACH
    assert len(rows) == ROUNDS * (EACH + 3)


def test_nothing_is_found_wrong_with_its_pairing(tmp_path: Path) -> None:
    judge = Judge()
    for event in Dissection(recorded(tmp_path)).events():
        judge.add(event)
    judge.finish()
    codes = {finding.code for finding in judge.findings.all()}
    assert not {code for code in codes if code[:3] in ("PAI", "BDY", "FRM")}, codes
    assert "HDR008" not in codes
