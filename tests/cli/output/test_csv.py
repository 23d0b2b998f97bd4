"""TSV and CSV in spreadsheets: a text stays a text, and a number a number."""

import csv
import io
from pathlib import Path

import pytest

from kdissect.cli import main
from kdissect.cli.formats.csv import CsvFormat
from kdissect.cli.formats.tsv import TsvFormat
from kdissect.decoders.encoder import encode_request
from tests.support.console import run
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "\uff1d1"]


@pytest.mark.parametrize("form", ["tsv", "csv"])
@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_reads_as_a_formula_gets_an_apostrophe(
    text: str, form: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    talk = Conversation().handshake()
    talk.client(
        encode_request(3, 1, 1, "me", {"topics": []})
    )  # what begins the connection must look like Kafka
    talk.client(encode_request(3, 1, -7, text, {"topics": [{"name": text}]}))
    path = write_pcap(tmp_path / "a.pcap", talk.packets)
    command = ["inspect", path, "--format", form, "-e", "client_id,topics,correlation_id,latency_ns"]
    assert main(command) == 0
    out = capfdbinary.readouterr().out.decode()
    separator = "," if form == "csv" else "\t"
    _, _, row = csv.reader(io.StringIO(out, newline=""), delimiter=separator)
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


RECORD_FIELDS = "headers.key,headers.value,key,value"


@pytest.mark.parametrize("engine", ["1", "0"], ids=["native", "python"])
@pytest.mark.parametrize("form", ["tsv", "csv"])
def test_records_are_inert(form: str, engine: str, tmp_path: Path) -> None:
    batch = batch_bytes(
        record_bytes(0, 0, b"-a", b"=1+1", [("@x", None), ("y", b"+1")])
        + record_bytes(1, 0, b"-7", b"\xff=", [("x", None), ("y", b"=1")])
        + record_bytes(2, 0, None, b"+", [("", b"-a"), ("=", b"\xff")]),
        count=3,
    )
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    talk = Conversation().handshake()
    talk.client(encode_request(0, 7, 1, "me", {"acks": -1, "topic_data": [topic]}))
    path, out = write_pcap(tmp_path / "a.pcap", talk.packets), tmp_path / "out"
    ran = run("records", path, "--port", "9092", "--format", form, "-e", RECORD_FIELDS, "-o", out,
              KDISSECT_NATIVE=engine)  # fmt: skip
    assert ran.code == 0, ran.err
    separator = "," if form == "csv" else "\t"
    with out.open(newline="") as file:
        _, *rows = csv.reader(file, delimiter=separator, quotechar='"' if form == "csv" else "\0")
    assert rows == [
        ["'@x,y", ",+1", "'-a", "'=1+1"],
        ["x,y", ",=1", "'-7", '{"base64":"/z0="}'],
        [",=", '\'-a,{"base64":"/w=="}', "", "'+"],
    ]


@pytest.mark.parametrize("form", [TsvFormat, CsvFormat])
def test_null_among_texts_of_a_list(form: type[TsvFormat | CsvFormat]) -> None:
    values = [{"value": text} for text in ("=1", None, "a,b")]
    line = form(["headers.value"], False).line({"headers": values})
    assert line.decode().strip().strip('"') == "'=1,,a,b"


@pytest.mark.parametrize("form", [TsvFormat, CsvFormat])
def test_numbers_stay_numbers(form: type[TsvFormat | CsvFormat]) -> None:
    for value, text in ((-1, "-1"), (-1.5, "-1.5"), ([-1], "-1"), (None, ""), (True, "true")):
        assert (
            form(["x", "y"], False)
            .line({"x": value, "y": 0})
            .decode()
            .split("\t" if form is TsvFormat else ",")[0]
            == text
        )
