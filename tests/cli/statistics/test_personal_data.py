"""`kdissect personal-data`: rows by field with who writes and reads, in each format; its redaction."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model import extras
from kdissect.stats import personal_data
from tests.support.console import CAPTURES
from tests.support.messages.batches import kafka_python_batch, kafka_python_messages
from tests.support.messages.traffic import CLIENT, Conversation
from tests.support.packets.pcaps import write_pcap

for module in ("phonenumbers", "stdnum"):
    pytest.importorskip(module, reason="needs the extra personal")

MAIL, IBAN = "anna.muster@firma.de", "DE89370400440532013000"
VALUE = json.dumps({"customer": {"email": MAIL}, "iban": IBAN}).encode()
SCHEMAS = CAPTURES / "schemas"


def produced(batch: bytes, client_id: str, topic: str = "orders", port: int = 40000) -> Conversation:
    talk = Conversation(ports=(port, 9092), start_ns=10**18 + port * 10**9).handshake()
    partition = {"index": 0, "records": batch}
    body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": topic, "partition_data": [partition]}]}
    talk.client(encode_request(0, 7, 1, client_id, body))
    answer = {"responses": [{"name": topic, "partition_responses": [{"index": 0, "base_offset": 0}]}]}
    return talk.broker(encode_response(0, 7, 1, answer)).fin(CLIENT)


def fetched(batch: bytes, client_id: str, port: int = 40001) -> Conversation:
    talk = Conversation(ports=(port, 9092), start_ns=10**18 + port * 10**9).handshake()
    asked = {"topics": [{"topic": "orders", "partitions": [{"partition": 0}]}]}
    talk.client(encode_request(1, 11, 1, client_id, asked))
    partition = {"partition_index": 0, "high_watermark": 9, "records": batch}
    answer = {"responses": [{"topic": "orders", "partitions": [partition]}]}
    return talk.broker(encode_response(1, 11, 1, answer)).fin(CLIENT)


@pytest.fixture
def capture(tmp_path: Path) -> str:
    """Return a capture of a record that one client writes and another reads."""
    batch = kafka_python_batch([(1, MAIL.encode(), VALUE, [("from", MAIL.encode()), ("n", b"\x00\x01")])])
    packets = [*produced(batch, "shop").packets, *fetched(batch, MAIL).packets]
    return write_pcap(tmp_path / "a.pcap", packets)


def facts(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["personal-data", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def places(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str, str], tuple[int, int]]:
    return {(row["kind"], row["part"], row["path"]): (row["written"], row["read"]) for row in rows}


def test_rows_have_producers_and_consumers(capfd: pytest.CaptureFixture[str], capture: str) -> None:
    found = facts(capfd, capture)
    rows = found["personal_data"]
    assert places(rows) == {
        ("email", "client_id", "$"): (0, 0),
        ("email", "header", "from"): (1, 1),
        ("email", "key", "$"): (1, 1),
        ("email", "value", "$.customer.email"): (1, 1),
        ("iban", "value", "$.iban"): (1, 1),
    }
    (iban,) = [row for row in rows if row["kind"] == "iban"]
    assert iban["producers"] == [{"client_id": "shop", "hits": 1}]
    assert iban["consumers"] == [{"client_id": "xxxx.xxxxxx@xxxxx.xx", "hits": 1}]
    assert (iban["confidence"], iban["hits"], iban["sure"], iban["forms"]) == ("sure", 2, 2, ["DE"])
    assert iban["examples"] == ["XX99999999999999999999"]
    assert found["left_out"]["binary"] == 2
    assert found["examined"] == {"records": 2, "schema": 0, "json": 2, "text": 8}


@pytest.mark.parametrize("style", ["text", "csv", "tsv", "json", "jsonl", "html", "parquet"])
def test_no_format_has_the_data(style: str, capture: str, tmp_path: Path) -> None:
    out = tmp_path / f"out.{style}"
    options = [] if style == "text" else ["--format", style]
    if style == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra arrow")
    assert main(["personal-data", capture, *options, "-o", str(out)]) == 0
    content = out.read_bytes()
    assert MAIL.encode() not in content
    assert IBAN.encode() not in content
    assert b"muster" not in content
    assert b"iban" in content


def test_csv_and_parquet_have_the_same_rows(capture: str, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra arrow")
    for style in ("csv", "parquet"):
        assert main(["personal-data", capture, "-o", str(tmp_path / f"out.{style}")]) == 0
    with (tmp_path / "out.csv").open() as file:
        lines = list(csv.DictReader(file))
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [line["path"] for line in lines] == [row["path"] for row in rows]
    assert [int(line["hits"]) for line in lines] == [row["hits"] for row in rows]
    assert lines[-1]["producers.client_id"] == "shop"


def test_filters_choose_records(capfd: pytest.CaptureFixture[str], capture: str) -> None:
    assert facts(capfd, capture, "--topic", "none*")["examined"]["records"] == 0
    assert facts(capfd, capture, "-Y", 'value.iban == "X"')["examined"]["records"] == 0
    rows = facts(capfd, capture, "--client-id", "shop")["personal_data"]
    assert {row["read"] for row in rows} == {0}


def test_segments(capfd: pytest.CaptureFixture[str], tmp_path: Path, capture: str) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(kafka_python_batch([(1, b"k", VALUE, [])]))
    for path in (folder, folder / f"{0:020}.log"):
        rows = facts(capfd, str(path))["personal_data"]
        assert [(row["topic"], row["path"], row["stored"]) for row in rows] == [
            ("orders", "$.customer.email", 1), ("orders", "$.iban", 1),
        ]  # fmt: skip
    both = facts(capfd, str(folder), capture)["personal_data"]
    assert {row["path"]: (row["stored"], row["written"]) for row in both}["$.iban"] == (1, 1)
    (folder / f"{0:020}.log").write_bytes(b"no segment")
    found = facts(capfd, str(folder))
    assert (found["personal_data"], found["examined"]["records"]) == ([], 0)
    assert found["left_out"]["unreadable"] > 0


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_redaction_of_old_formats(
    magic: int, codec: int, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    batch = kafka_python_messages([(1, b"k", VALUE, []), (2, None, b"\x00\x01", [])], magic, codec)
    path = write_pcap(tmp_path / "a.pcap", produced(batch, "shop").packets)
    assert len(facts(capfd, path)["personal_data"]) == 2
    out = str(tmp_path / "out.pcapng")
    assert main(["extract", "--redact=personal", "-o", out, path]) == 0
    capfd.readouterr()
    assert facts(capfd, out)["personal_data"] == []
    assert main(["records", out, "-e", "value,crc_ok", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["crc_ok"] for row in rows] == [True, True]
    assert json.loads(rows[0]["value"]) == {"customer": {"email": "x" * len(MAIL)}, "iban": "x" * len(IBAN)}
    assert rows[1]["value"] == "\x00\x01"


def test_redaction_masks_client_ids(capfd: pytest.CaptureFixture[str], capture: str, tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact=personal", "-o", str(out), capture]) == 0
    assert MAIL.encode() not in out.read_bytes()
    capfd.readouterr()
    assert facts(capfd, str(out))["personal_data"] == []
    assert main(["records", str(out), "-e", "client_id", "--no-header"]) == 0
    assert capfd.readouterr().out.split() == ["shop", "x" * len(MAIL)]


def test_principals(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    talk = Conversation().handshake()
    talk.client(encode_request(17, 1, 1, "me", {"mechanism": "PLAIN"}))
    talk.broker(encode_response(17, 1, 1, {"mechanisms": ["PLAIN"]}))
    talk.client(encode_request(36, 1, 2, "me", {"auth_bytes": f"\0{MAIL}\0hunter2".encode()}))
    talk.broker(encode_response(36, 1, 2, {"auth_bytes": b""}))
    talk.client(encode_request(3, 1, 3, "me", {"topics": []}))
    talk.broker(encode_response(3, 1, 3, {"brokers": [], "topics": []}))
    path = write_pcap(tmp_path / "a.pcap", talk.fin(CLIENT).packets)
    (row,) = facts(capfd, path)["personal_data"]
    assert (row["kind"], row["part"], row["examples"]) == ("email", "principal", ["xxxx.xxxxxx@xxxxx.xx"])
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact=personal", "-o", str(out), path]) == 0
    assert MAIL.encode() not in out.read_bytes()
    capfd.readouterr()
    assert facts(capfd, str(out))["personal_data"] == []


def test_a_batch_without_hits_stays_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    batch = kafka_python_batch([(1, b"k", b"nothing in it" * 99, [])], 1)
    path = write_pcap(tmp_path / "a.pcap", produced(batch, "shop").packets)
    out = tmp_path / "out.pcapng"
    assert main(["extract", "--redact=personal", "-o", str(out), path]) == 0
    assert batch in out.read_bytes()
    assert "another length" not in capfd.readouterr().err


def test_values_of_schemas(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("fastavro", "grpc_tools", "jsonschema"):
        pytest.importorskip(name, reason="needs the extra schemas")
    options = ("--schemas", str(SCHEMAS / "registry"))
    path = str(SCHEMAS / "schemas.pcap")
    rows = facts(capfd, path, *options)["personal_data"]
    found = {(row["kind"], row["topic"], row["path"], row["hits"]) for row in rows}
    assert {
        ("email", "orders", "$.customer.email", 3), ("phone", "orders", "$.customer.phone", 1),
        ("email", "visits", "$.email", 1), ("email", "users", "$.email", 1),
    } <= found  # fmt: skip
    out = str(tmp_path / "out.pcapng")
    assert main(["extract", "--redact=personal", "-o", out, path, *options]) == 0
    capfd.readouterr()
    assert facts(capfd, out, *options)["personal_data"] == []
    before, after = (decoded(capfd, one, *options) for one in (path, out))
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert len([topic for (topic, _, _), _ in changed if topic == "orders-glue"]) == 2  # one is compressed
    assert changed
    for old, new in changed:
        assert masked_as(old, new)


def decoded(capfd: pytest.CaptureFixture[str], path: str, *options: str) -> list[Any]:
    capfd.readouterr()
    assert main(["records", path, *options, "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert all(row["crc_ok"] for row in rows)
    return [(row["topic"], row["value_schema"], row.get("decoded")) for row in rows]


def masked_as(old: Any, new: Any) -> bool:
    """Whether a value is another one with some texts masked."""
    if isinstance(old, dict) and isinstance(new, dict):
        return list(old) == list(new) and all(masked_as(old[name], new[name]) for name in old)
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(masked_as, old, new))
    return bool(old == new or new == "x" * len(old.encode()))


def test_rows_and_clients_are_bounded(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(personal_data, "MAX_ROWS", 2)
    monkeypatch.setattr(personal_data, "MAX_CLIENTS", 1)
    value = json.dumps({f"m{number}x": MAIL for number in range(5)}).encode()
    batch = kafka_python_batch([(1, b"k", value, [])])
    packets = [
        packet
        for number in range(3)
        for packet in produced(batch, f"shop{number}", port=41000 + number).packets
    ]
    path = write_pcap(tmp_path / "a.pcap", packets)
    found = facts(capfd, path)
    assert len(found["personal_data"]) == 2
    assert found["left_out"]["hits_without_row"] == 9
    assert [row["clients_left_out"] for row in found["personal_data"]] == [2, 2]
    assert [row["written"] for row in found["personal_data"]] == [3, 3]
    assert main(["personal-data", path, "--format", "csv"]) == 0
    assert "kdissect: 9 hits in further fields" in capfd.readouterr().err


@pytest.mark.parametrize("command", [("personal-data",), ("extract", "--redact=personal", "-o", "out")])
def test_a_missing_extra_is_one_line(
    command: tuple[str, ...], capture: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    assert main([*command, capture]) == 2
    line = capfd.readouterr().err.splitlines()[0]
    assert "pip install 'phonenumbers>=8.13' 'python-stdnum>=1.20'" in line
