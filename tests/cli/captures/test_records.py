"""`kdissect records`: every record, in every format, and faults on stderr."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.cli import main
from kdissect.engine.records.record_fields import RECORD_FIELDS, SCHEMA_COLUMNS
from tests.stats.truth import capture
from tests.support.captures import manifest
from tests.support.console import CAPTURES, TXN, run_on_terminal
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.records import joined_batches, theirs
from tests.support.messages.traffic import Conversation, request
from tests.support.packets.pcaps import write_pcap

GROUPS = str(CAPTURES / "tansu_kp3_groups.pcap")


def lines(capfd: pytest.CaptureFixture[str], *arguments: object) -> list[dict[str, Any]]:
    assert main(["records", *map(str, arguments), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def content(value: Any) -> bytes | None:
    """Return the bytes of a value in the text format."""
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return None if value is None else value.encode()


@pytest.mark.sampled(16)
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_rows_are_what_kafka_python_reads(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = [
        (record[0], -1 if record[1] is None else record[1], *record[2:])
        for batch in joined_batches(each for each in Dissection(str(path)) if each.connection.same_as is None)
        for record in theirs(batch.data[batch.start : batch.end])
    ]
    rows = lines(capfd, path, "--show-secrets")
    found = [
        (
            row["raw_offset"],
            -1 if row["timestamp_ms"] is None else row["timestamp_ms"],
            content(row["key"]),
            content(row["value"]),
            tuple((header["key"], content(header["value"])) for header in row["headers"]),
        )
        for row in rows
    ]
    assert found == expected
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))


def test_counts_of_a_reference_capture(reference: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "tansu_rdk216_codecs.pcap"
    rows = lines(capfd, reference / "captures" / name)
    assert len(rows) == manifest(reference)[name]["records"]
    assert {row["codec"] for row in rows} == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_every_row_has_every_field(capfd: pytest.CaptureFixture[str]) -> None:
    some = {"acquired", "delivery_count", "decoded"}  # of records that are shared, and of Kafka's own
    usual = [field.name for field in RECORD_FIELDS if field.name not in SCHEMA_COLUMNS]
    named = [name for name in usual if "." not in name]
    for row in lines(capfd, TXN):
        assert [name for name in row if name not in some] == [name for name in named if name not in some]
    for row in lines(capfd, capture("kafka44_java_redelivery"), "-Y", "api == ShareFetch"):
        assert list(row) == [name for name in named if name != "decoded"]


def test_control_records_say_what_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [row for row in lines(capfd, TXN) if row["control"]]
    assert {row["control"] for row in rows} == {"commit", "abort"}
    assert {row["decoded"]["value"]["payload"] for row in rows} == {"EndTxnMarker"}
    assert all(row["sequence"] is None for row in rows)


@pytest.mark.parametrize(
    ("form", "expected"),
    [("text", '{"a":1}'), ("hex", b'{"a":1}'.hex()), ("base64", "eyJhIjoxfQ=="), ("json", {"a": 1})],
)
def test_forms_of_values(form: str, expected: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = produced(tmp_path, batch_bytes(record_bytes(key=b"\xff", value=b'{"a":1}')))
    (row,) = lines(capfd, path, "--value-format", form, "--port", 9092)
    assert row["value"] == expected
    assert row["key"] == {"base64": "/w=="}
    (row,) = lines(capfd, path, "--key-format", "hex", "--port", 9092)
    assert (row["key"], row["value"]) == ("ff", '{"a":1}')


def produced(tmp_path: Path, *batches: bytes) -> str:
    """Return a capture of one Produce version 3 request with these batches."""
    data = b"".join(batches)
    body = b"\xff\xff" + b"\x00\x01" + bytes(4) + b"\x00\x00\x00\x01" + b"\x00\x01t" + b"\x00\x00\x00\x01"
    body += bytes(4) + len(data).to_bytes(4) + data
    talk = Conversation().handshake().client(request(0, 3, 1, body))
    return write_pcap(tmp_path / "produce.pcap", talk.packets)


def test_faults_are_told_on_stderr_and_the_rest_is_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = batch_bytes(record_bytes(value=b"good"))
    bad = batch_bytes(record_bytes(value=b"bad"), crc=1)
    path = produced(tmp_path, bad, batch_bytes(b"x", attributes=7), good)
    assert main(["records", path, "--port", "9092", "-e", "value,crc_ok", "--no-header"]) == 0
    out, err = capfd.readouterr()
    assert out == "bad\tfalse\ngood\ttrue\n"
    first, second = err.splitlines()
    place = f"{path} packet 4: ProduceRequest.topic_data[0].partition_data[0].records"
    assert first.startswith(f"kdissect: bad_crc: {place}.batches[0].crc: says 0x00000001, the bytes give ")
    assert second.startswith(
        f"kdissect: unknown_codec: {place}.batches[1].attributes: there is no codec 7 at byte "
    )


def test_topic_and_limit(capfd: pytest.CaptureFixture[str]) -> None:
    assert not lines(capfd, GROUPS, "--topic", "no-such")
    rows = lines(capfd, GROUPS, "--topic", "kp3012-*", "--limit", 7)
    assert len(rows) == 7
    assert {row["topic"] for row in rows} == {"kp3012-grp"}


def test_csv_and_tsv_have_the_same_cells(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["records", GROUPS, "--format", "csv", "-e", "offset,key,partition"]) == 0
    table = list(csv.reader(io.StringIO(capfd.readouterr().out)))
    assert main(["records", GROUPS, "--format", "tsv", "-e", "offset,key,partition"]) == 0
    assert [line.split("\t") for line in capfd.readouterr().out.splitlines()] == table
    assert table[0] == ["offset", "key", "partition"]


def test_a_table_on_a_terminal() -> None:
    ran = run_on_terminal(["records", TXN, "--limit", 3], NO_COLOR="1")
    assert ran.out.splitlines()[0].split()[:5] == ["#", "time", "(UTC)", "direction", "topic"]
    assert "txn-in" in ran.out


def test_parquet_needs_a_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["records", TXN, "--format", "parquet"]) == 2
    assert "parquet needs --output FILE" in capfd.readouterr().err


def test_unknown_fields_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["records", TXN, "-e", "ofset"]) == 2
    assert "did you mean offset?" in capfd.readouterr().err
