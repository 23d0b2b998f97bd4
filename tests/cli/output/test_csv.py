"""CSV in spreadsheets: a text stays a text, and a number a number."""

import csv
import io
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.formats.csv import CsvFormat
from tests.support.messages.encoder import encode_request
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "\uff1d1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_reads_as_a_formula_gets_an_apostrophe(
    text: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    talk = Conversation().handshake()
    talk.client(
        encode_request(3, 1, 1, "me", {"topics": []})
    )  # what begins the connection must look like Kafka
    talk.client(encode_request(3, 1, -7, text, {"topics": [{"name": text}]}))
    path = write_pcap(tmp_path / "a.pcap", talk.packets)
    command = ["inspect", path, "--format", "csv", "-e", "client_id,topics,correlation_id,latency_ns"]
    assert main(command) == 0
    out = capfdbinary.readouterr().out.decode()
    _, _, row = csv.reader(io.StringIO(out, newline=""))
    shown = "'" + text.replace("\t", "\\t").replace("\r", "\\r")
    assert row == [shown, shown, "-7", ""]


def test_other_texts_are_as_they_are(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    talk = Conversation().handshake()
    talk.client(encode_request(3, 1, 1, "a=b", {"topics": [{"name": "t-1"}, {"name": "u"}]}))
    path = write_pcap(tmp_path / "a.pcap", talk.packets)
    assert main(["inspect", path, "--format", "csv", "-e", "client_id,topics"]) == 0
    assert capfdbinary.readouterr().out == b'client_id,topics\na=b,"t-1,u"\n'


@pytest.mark.parametrize("evil", ["\x1b[2J", "\a", "\0", "\x9b1m", "\u202e", "\u2066", "\r", "\x7f"])
def test_a_file_holds_nothing_that_acts_on_a_terminal(evil: str, tmp_path: Path) -> None:
    talk = Conversation().handshake()
    talk.client(encode_request(3, 1, 1, "me", {"topics": []}))
    talk.client(encode_request(3, 1, 2, f"a{evil}b", {"topics": [{"name": f"t{evil}"}]}))
    path, out = write_pcap(tmp_path / "a.pcap", talk.packets), tmp_path / "out.csv"
    assert main(["inspect", path, "--format", "csv", "-o", str(out), "-e", "client_id,topics"]) == 0
    text = out.read_text()
    assert text.replace("\n", "").isprintable()
    assert text.count("\n") == 3


def test_null_among_texts_of_a_list() -> None:
    values = [{"value": text} for text in ("=1", None, "a,b")]
    line = CsvFormat(["headers.value", "headers"], False).line({"headers": values})
    assert next(csv.reader([line.decode()]))[0] == "=1,,a,b"
