"""JSON as text: controls of the writing direction are escaped, and a parser reads the name as it was sent."""

import json
from pathlib import Path

import pytest

from kdissect.decoders.encoder import encode_request
from tests.support.console import run
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

# Bidi_Control of Unicode (PropList.txt)
CONTROLS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
NAME = f't\u00e9{CONTROLS}\U0001f642"\\x'


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write a Produce request with the name as client id, topic, key, value, and header."""
    text = NAME.encode()
    batch = batch_bytes(record_bytes(0, 0, text, text, [(NAME, text)]))
    data = {"name": NAME, "partition_data": [{"index": 0, "records": batch}]}
    talk = Conversation().handshake()
    talk.client(encode_request(0, 7, 1, "first", {"acks": -1, "topic_data": []}))
    talk.client(encode_request(0, 7, 2, NAME, {"acks": -1, "topic_data": [data]}))
    return write_pcap(tmp_path_factory.mktemp("controls") / "a.pcap", talk.packets)


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for text in (*texts(item[0]), *texts(item[1]))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


COMMANDS = [
    "inspect", "inspect --bodies", "inspect --bodies --records", "inspect -e client_id,request.body",
    "records", "records -e key,value,headers", "topics",
]  # fmt: skip


@pytest.mark.parametrize("engine", ["1", "0"], ids=["native", "python"])
@pytest.mark.parametrize("form", ["json", "jsonl"])
@pytest.mark.parametrize("line", COMMANDS)
def test_json_is_inert_and_reads_as_sent(
    line: str, form: str, engine: str, capture: str, tmp_path: Path
) -> None:
    name, *options = line.split()
    out = tmp_path / "out"
    ran = run(name, capture, "--port", "9092", *options, "--format", form, "-o", out, KDISSECT_NATIVE=engine)
    assert ran.code == 0, ran.err
    text = out.read_text()
    assert not set(CONTROLS) & set(text)
    found = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
    assert NAME in texts(found)


@pytest.mark.parametrize("form", ["table", "tsv", "csv", "tree"])
@pytest.mark.parametrize("engine", ["1", "0"], ids=["native", "python"])
def test_other_forms_are_inert(form: str, engine: str, capture: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bodies = ["--bodies"] if form == "tree" else []
    line = ("inspect", capture, "--port", "9092", *bodies, "--format", form, "-o", out)
    ran = run(*line, KDISSECT_NATIVE=engine)
    assert ran.code == 0, ran.err
    text = out.read_text()
    assert "t\u00e9\\u061c" in text
    assert not set(CONTROLS) & set(text)
