"""Keys and values by their schemas are what clients read; what does not fit is reported, and bounded."""

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.cli import main
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.serdes import decoders, schema_files
from kdissect.serdes.avro_walk import MAX_EMPTY_ITEMS
from kdissect.serdes.bounds import MAX_DEPTH, MAX_VALUE_BYTES
from kdissect.serdes.faults import SchemaError, ValueFaultError
from kdissect.serdes.registered import Registered, SchemaType
from kdissect.serdes.schema_files import load_schemas
from kdissect.serdes.schemas import Schemas
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

for module in ("fastavro", "grpc_tools", "jsonschema"):
    pytest.importorskip(module, reason="needs the extra schemas")

FOLDER = CAPTURES / "schemas"
CAPTURE = str(FOLDER / "schemas.pcap")
REGISTRY, APICURIO, SOURCES = FOLDER / "registry", FOLDER / "apicurio", FOLDER / "sources"
ALL = ("--schemas", str(REGISTRY), "--schemas", str(APICURIO), "--schemas", str(SOURCES / "topics.toml"))
NODE = (SOURCES / "node.avsc").read_text()
GUID = "70c309f2-3746-4b77-9123-49d28d0a61f2"


def listed(capfd: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["records", *options, "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def decoder(text: str, kind: SchemaType = SchemaType.AVRO, **references: str) -> decoders.Decode:
    return decoders.decoder_of(Registered("s", kind, text, references))


def avro(schema: Any) -> Callable[[bytes], Any]:
    decode = decoder(json.dumps(schema))
    return lambda data: decode(data, None)


def test_every_value_is_what_the_client_reads(capfd: pytest.CaptureFixture[str]) -> None:
    truth = json.loads((FOLDER / "values.json").read_text())
    rows = listed(capfd, CAPTURE, *ALL)
    assert [row["topic"] for row in rows] == [each["topic"] for each in truth]
    found = [(row.get("decoded") or {}).get("value") for row in rows]
    assert found == [each["read"] for each in truth]


def test_wire_formats_are_sure_where_a_schema_proves_them(capfd: pytest.CaptureFixture[str]) -> None:
    rows = listed(capfd, CAPTURE, *ALL)
    formats = {(row["topic"], row["value_wire_format"]) for row in rows if row["value_error"] is None}
    assert {("orders", "confluent"), ("orders-apicurio", "apicurio"), ("visits", "confluent")} <= formats
    assert {row["value_message_indexes"] for row in rows if row["topic"] == "visits"} == {"0", "1,0"}
    assert not any(name and name.startswith("maybe_") for _, name in formats)
    wrong = {(row["topic"], row["offset"]): row for row in rows if row["value_error"] is not None}
    assert set(wrong) == {("orders", 3), ("orders", 4), ("users", 1)}
    assert wrong["orders", 3]["value_error"] == "no given schema has id 999, if it is one"
    assert wrong["orders", 4]["value_error"] == "the value ends before its schema does"
    assert wrong["orders", 4]["value_schema"] == "orders-value v1"
    assert wrong["orders", 4]["value_wire_format"] == "maybe_confluent"
    assert wrong["users", 1]["value_error"] == "$: 'email' is a required property"


def test_poison_pills_are_reported_with_their_producer(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["records", CAPTURE, *ALL]) == 0
    pills = [line for line in capfd.readouterr().err.splitlines() if "poison pill" in line]
    assert len(pills) == 2  # an id that no schema has is none
    assert "orders-0 offset 4: value does not fit orders-value v1: the value ends before its" in pills[0]
    assert pills[0].endswith("written by 'shop' (10.0.0.1:40000)")


def test_filters_ask_for_fields_of_values(capfd: pytest.CaptureFixture[str]) -> None:
    def offsets(text: str) -> list[tuple[str, int]]:
        return [(row["topic"], row["offset"]) for row in listed(capfd, CAPTURE, *ALL, "-Y", text)]

    assert offsets('value.customer.email ~ "^anna1@" and topic == orders') == [("orders", 1)]
    assert offsets("value.total > 15 and value.total < 25 and topic == orders") == [("orders", 1)]
    assert offsets("value.lines.sku == A-1 and topic == orders") == [("orders", 2)]
    assert offsets("value.id == 1152921504606846976 and topic == visits") == [("visits", 0)]
    assert offsets('value["address"].city == "Köln" and topic == users') == [("users", 0)]
    assert offsets('value_error ~ "ends before"') == [("orders", 4)]
    assert len(offsets('value_schema == "orders-value v1"')) == 4


def test_schemas_of_a_real_recording(
    reference: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fields = [
        {"name": "id", "type": "long"},
        *({"name": name, "type": "string"} for name in ("email", "card")),
    ]
    schema = json.dumps({"type": "record", "name": "Order", "fields": fields})
    for name in ("1.avsc", f"{GUID}.avsc"):
        (tmp_path / name).write_text(schema)
    rows = listed(capfd, str(reference / "cases" / "schema_ids.pcap"), "--schemas", str(tmp_path))
    rows = [row for row in rows if row["topic"] != "plain-json"]
    assert len(rows) == 16
    for row in rows:
        number = row["offset"]
        expected = {"id": number, "email": f"anna{number}@example.com", "card": "4111111111111111"}
        assert row["decoded"]["value"] == expected
        assert (
            row["value_wire_format"] == {"orders": "confluent", "orders-h": "confluent_header"}[row["topic"]]
        )


def test_tables_of_columns(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "out.parquet"
    assert main(["records", CAPTURE, *ALL, "-o", str(out)]) == 0
    rows = pa.read_table(out).to_pylist()
    assert json.loads(rows[0]["decoded"])["value"]["customer"] == {
        "email": "anna0@example.com",
        "phone": None,
    }
    assert rows[0]["value_schema"] == "orders-value v1"
    assert rows[0]["value"][:5] == b"\0\0\0\0\2"


def test_the_table_of_records(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "out"
    assert main(["tables", CAPTURE, *ALL, "--output", str(out), "--tables", "records"]) == 0
    rows = {(row["topic"], row["offset"]): row for row in pa.read_table(out / "records").to_pylist()}
    assert json.loads(rows["users", 0]["decoded"])["value"]["name"] == "Anna"
    assert rows["orders", 4]["value_error"] == "the value ends before its schema does"


def test_bodies_and_trees_have_them(capfd: pytest.CaptureFixture[str]) -> None:
    options = (CAPTURE, *ALL, "--records", "-Y", "value.customer.email ~ anna1 and topic == orders")
    assert main(["inspect", *options, "--format", "jsonl"]) == 0
    body = json.loads(capfd.readouterr().out)["request"]["body"]
    (record,) = body["topic_data"][0]["partition_data"][0]["records"]["batches"][0]["records"]
    assert record["decoded"]["value"]["customer"]["email"] == "anna1@example.com"
    assert (record["value_schema"], record["value_schema_id"]) == ("orders-value v1", 2)
    assert main(["inspect", *options, "--format", "tree"]) == 0
    assert 'decoded: orders-value v1 = {"id": 1001, ' in capfd.readouterr().out


def test_readers_of_poison_pills_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One in a batch of a thousand, written by one and read by two."""
    good, bad = b"\0\0\0\0\4\2a\0", b"\0\0\0\0\4\2a\4"
    records = b"".join(record_bytes(n, 0, None, bad if n == 417 else good) for n in range(1000))
    batch = batch_bytes(records, 1000, last_delta=999)
    packets = []
    for port, (client, key) in enumerate((("shop", 0), ("biller", 1), ("audit", 1))):
        talk = Conversation(ports=(40000 + port, 9092), start_ns=10**18 + port * 10**9).handshake()
        request, response = _exchange(key, batch)
        version = (9, 12)[key]
        talk.client(encode_request(key, version, 1, client, request))
        packets += talk.broker(encode_response(key, version, 1, response)).packets
    path = write_pcap(tmp_path / "a.pcap", packets)
    assert main(["records", path, "--schemas", str(REGISTRY), "-e", "offset", "-Y", "value_error"]) == 0
    out, err = capfd.readouterr()
    assert out.split() == ["offset", "417", "417", "417"]
    (line,) = [line for line in err.splitlines() if "poison pill" in line]
    assert "trees-0 offset 417: value does not fit trees-value v1" in line
    assert "written by 'shop' (10.0.0.1:40000)" in line
    assert line.endswith("read by 'biller' (10.0.0.1:40001), 'audit' (10.0.0.1:40002)")


def _exchange(key: int, batch: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    if key == 0:
        written = {"index": 0, "records": batch}
        request = {
            "acks": -1,
            "timeout_ms": 1,
            "topic_data": [{"name": "trees", "partition_data": [written]}],
        }
        answer = {"index": 0, "error_code": 0, "base_offset": 0, "log_append_time_ms": -1}
        return request, {"responses": [{"name": "trees", "partition_responses": [answer]}]}
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    request = {"replica_id": -1, "topics": [{"topic": "trees", "partitions": [asked]}]}
    read = {"partition_index": 0, "high_watermark": 1000, "last_stable_offset": 1000, "records": batch}
    return request, {"responses": [{"topic": "trees", "partitions": [read]}]}


# Where schemas come from.
def entry(subject: str) -> dict[str, Any]:
    found = json.loads((REGISTRY / "schemas.json").read_text())
    return next(answer for answer in found if answer["subject"] == subject)


def value(schemas: Schemas, content: bytes, topic: str = "t", headers: Any = ()) -> Any:
    reading = schemas.read(topic, content, headers, False)
    assert reading.error is None, reading
    return reading.value if reading.is_decoded else None


def test_answers_of_confluent(tmp_path: Path) -> None:
    node = entry("trees-value")
    data = b"\0\0\0\0\4" + b"\2a\0"
    expected = {"name": "a", "children": []}
    (tmp_path / "subject.json").write_text(json.dumps(node))  # /subjects/trees-value/versions/1
    assert value(load_schemas([str(tmp_path / "subject.json")]), data) == expected
    ids = tmp_path / "schemas" / "ids"
    ids.mkdir(parents=True)
    (ids / "4.json").write_text(json.dumps({"schema": node["schema"]}))  # /schemas/ids/4
    (ids / ".hidden").write_text("x")
    (tmp_path / "README").write_text("none of ours")
    assert value(load_schemas([str(tmp_path / "schemas")]), data) == expected


def test_descriptors_as_a_registry_serializes_them(tmp_path: Path) -> None:
    from base64 import b64encode

    from google.protobuf.timestamp_pb2 import DESCRIPTOR

    text = b64encode(DESCRIPTOR.serialized_pb).decode()
    answer = {"id": 5, "subject": "a", "version": 1, "schemaType": "PROTOBUF", "schema": text}
    (tmp_path / "a.json").write_text(json.dumps(answer))
    schemas = load_schemas([str(tmp_path)])
    assert value(schemas, b"\0\0\0\0\5\0\x08\1") == "1970-01-01T00:00:01Z"


def test_files_by_their_names_and_what_they_refer_to(tmp_path: Path) -> None:
    for name in ("customer.avsc", "order.avsc", "place.proto", "visit.proto", "address.schema.json"):
        (tmp_path / name).write_text((SOURCES / name).read_text())
    (tmp_path / "order.avsc").rename(tmp_path / "orders-value.avsc")
    (tmp_path / "visit.proto").rename(tmp_path / "visits-value.proto")
    user = (SOURCES / "user.schema.json").read_text().replace("address.json", "address.schema.json")
    (tmp_path / "users-key.json").write_text(user)
    schemas = load_schemas([str(tmp_path)])
    assert value(schemas, b"\x0a\0", "other") is None
    assert value(schemas, b"\x12\5/cart", "visits")["page"] == "/cart"
    content = json.dumps({"name": "a", "email": "b", "address": {}}).encode()
    assert schemas.read("users", content, (), True).error == "$.address: 'city' is a required property"
    assert schemas.read("users", content, (), False).error is None
    data = bytes.fromhex("02") + b"\2e\0\0\2\0" + bytes(2) + b"\0\0" + bytes(1)
    assert schemas.read("orders", data, (), False).is_fault


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.avsc", '{"type": "recrod"}', None),
        ("a.txt", "", "no schema file"),
        ("a.json", "{", "no JSON"),
        ("a.json", "[" * 100_000, "nested too deep"),
        ("a.json", '{"a": 1}', "neither a schema nor an answer of a registry"),
        ("a.json", '{"schema": "x", "schemaType": "XML"}', "no type of schemas: 'XML'"),
        ("a.toml", "a = 1", "no table [topics]"),
        ("a.toml", "=", "no TOML"),
        ("a.toml", '[topics]\na = "missing.avsc"', "missing.avsc: No such file or directory"),
        ("a.toml", "[topics]\na = {values = 'x'}", "value_reader name files"),
    ],
)
def test_files_that_are_wrong(
    name: str, content: str, why: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(content)
    if why is None:
        load_schemas([str(path)])  # it is looked into where a value needs it
        return
    assert main(["records", CAPTURE, "--schemas", str(path)]) == 2
    error = next(line for line in capfd.readouterr().err.splitlines() if "error:" in line)
    assert why in error
    assert str(path.parent) in error


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no schemas inside"):
        load_schemas([str(tmp_path)])


def test_a_missing_library_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decoders, "are_installed", lambda *names: "fastavro" not in names)
    assert main(["records", CAPTURE, *ALL]) == 0
    lines = [line for line in capfd.readouterr().err.splitlines() if "orders-value v1" in line]
    assert lines == [
        "kdissect: warning: orders-value v1: values of Avro need pip install 'cbor2>=6' "
        "'fastavro>=1.10' 'grpcio-tools>=1.66' 'jsonschema>=4.22' 'msgpack>=1.1' 'protobuf>=5'"
    ]


def test_eight_bytes_need_a_proof() -> None:
    """They are as likely a number: an id counts if its schema fits, or is the subject of the topic."""
    schemas = load_schemas([str(REGISTRY)])
    good, bad = b"\0\0\0\0\4\2a\0", b"\0\0\0\0\4\2a\4"
    assert schemas.read("other", good, (), False).wire_format == "confluent"
    assert schemas.read("other", bad, (), False).error is None
    assert schemas.read("other", bad, (), False).id is None
    assert schemas.read("trees", bad, (), False).is_fault
    assert not schemas.read("trees", bad, (), True).is_fault


# Bad input.
def test_recursion_is_bounded() -> None:
    decode = decoder(NODE)
    leaf = b"\2a\0"
    for _ in range(MAX_DEPTH * 10):
        leaf = b"\2a\2" + leaf + b"\0"
    with pytest.raises(ValueFaultError, match="nested deeper than"):
        decode(leaf, None)
    with pytest.raises(ValueFaultError):
        decode(b"\2a\2" * 1_000_000, None)


def test_items_without_bytes_are_bounded() -> None:
    decode = avro({"type": "array", "items": "null"})
    assert decode(b"\6\0") == [None] * 3
    with pytest.raises(ValueFaultError, match=f"more than {MAX_EMPTY_ITEMS} items"):
        decode(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0")
    empty = {"type": "record", "name": "E", "fields": []}
    with pytest.raises(ValueFaultError, match="items without bytes"):
        avro({"type": "array", "items": empty})(b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0")


@pytest.mark.parametrize(
    "kind", ["string", "bytes", "double", ["null", "string"], {"type": "map", "values": "int"}]
)
def test_lengths_beyond_the_value(kind: Any) -> None:
    decode = avro({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]})
    for data in (b"", b"\x80", b"\xff" * 11, b"\xfe\xff\xff\xff\x0f", b"\x01", b"\x02" + bytes(9)):
        with pytest.raises(ValueFaultError):
            decode(data)
    for data in (b"", b"\x80", b"\0\0"):
        with pytest.raises(ValueFaultError):
            avro("long")(data)


def test_dates_beyond_those_of_python_are_numbers() -> None:
    decode = avro({"type": "long", "logicalType": "timestamp-millis"})
    assert decode(b"\0") == "1970-01-01T00:00:00Z"
    assert decode(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01") == 2**63 - 1
    assert avro("double")(b"\0\0\0\0\0\0\xf8\x7f") == "NaN"


def test_zlib_is_bounded(tmp_path: Path) -> None:
    (tmp_path / f"{GUID}.avsc").write_text('"string"')
    schemas = load_schemas([str(tmp_path)])
    head = b"\3\5" + UUID(GUID).bytes
    assert value(schemas, head + zlib.compress(b"\2a")) == "a"
    bomb = schemas.read("t", head + zlib.compress(bytes(MAX_VALUE_BYTES * 4)), (), False)
    assert bomb.error == f"not decoded: more than {MAX_VALUE_BYTES} bytes"
    assert not bomb.is_fault
    assert schemas.read("t", head + b"xxxx", (), False).is_fault
    assert schemas.read("t", head + zlib.compress(b"\2a")[:-3], (), False).is_fault


def test_deep_messages_and_deep_json_are_faults() -> None:
    decode = decoder('syntax = "proto3"; message M { M m = 1; }', SchemaType.PROTOBUF)
    data = b""
    for _ in range(300):
        size, length = len(data), b""
        while size > 127:
            length, size = length + bytes((size & 127 | 128,)), size >> 7
        data = b"\x0a" + length + bytes((size,)) + data
    with pytest.raises(ValueFaultError):
        decode(data, None)
    with pytest.raises(ValueFaultError, match="has no message 5"):
        decode(b"", (5,))
    with pytest.raises(ValueFaultError, match="nested too deep"):
        decoder("{}", SchemaType.JSON)(b"[" * 100_000, None)


def test_schemas_that_refer_to_each_other_end(tmp_path: Path) -> None:
    answers = [
        {"id": number, "subject": mine, "version": 1,
         "schema": json.dumps({"type": "record", "name": mine, "fields": [{"name": "x", "type": other}]}),
         "references": [{"name": other, "subject": other, "version": 1}]}
        for number, mine, other in ((1, "A", "B"), (2, "B", "A"))
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(answers))
    schemas = load_schemas([str(tmp_path)])
    assert schemas.read("t", b"\0\0\0\0\1abcd", (), False).error


def test_names_of_protobuf_files_stay_in_their_folder(tmp_path: Path) -> None:
    for name in ("../evil.proto", "/tmp/evil.proto", "grpc_tools/__init__.py", "a\0.proto"):
        with pytest.raises(SchemaError, match="is no file name"):
            decoders.decoder_of(Registered("s", SchemaType.PROTOBUF, 'syntax = "proto3";', {name: "x"}))


def test_schemas_that_are_wrong_are_said_once() -> None:
    for kind, text in (
        (SchemaType.AVRO, '{"type": "recrod"}'),
        (SchemaType.AVRO, '{"type": "array", "items": ' * 5000 + '"int"' + "}" * 5000),
        (SchemaType.PROTOBUF, "message {"),
        (SchemaType.PROTOBUF, 'syntax = "proto3"; import "missing.proto";'),
        (SchemaType.JSON, '{"type": 5}'),
        (SchemaType.JSON, "{"),
    ):
        with pytest.raises(SchemaError, match=r"^s: ") as error:
            decoder(text, kind)
        assert "\n" not in str(error.value)


_FUZZED = load_schemas([str(REGISTRY), str(SOURCES / "topics.toml")])


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from([2, 4, 6, 9]), st.binary(max_size=200), st.sampled_from(["orders-raw", "visits-raw", "t"])
)
def test_any_bytes_raise_nothing(number: int, data: bytes, topic: str) -> None:
    for content in (data, b"\0" + number.to_bytes(4, "big") + data):
        reading = _FUZZED.read(topic, content, (), False)
        assert reading.is_decoded is (reading.error is None) or reading.schema is None
        json.dumps(reading.value)


def test_limits_of_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_files, "MAX_FILES", 1)
    for name in ("1.avsc", "2.avsc"):
        (tmp_path / name).write_text('"int"')
    with pytest.raises(SchemaError, match="more than 1 files"):
        load_schemas([str(tmp_path)])


@pytest.fixture
def saved_by_java(tmp_path: Path) -> str:
    """Return a folder with the schemas of `java.pcap.gz`, as an Apicurio registry and AWS Glue have them."""
    for number, name in enumerate(("parcel.avsc", "parcel.schema.json", "trip.proto"), 1):
        text = (SOURCES / name).read_text()
        ending = name.rpartition(".")[2]
        for space, first in (("contentIds", 70), ("globalIds", 4711)):
            (tmp_path / "ids" / space).mkdir(parents=True, exist_ok=True)
            (tmp_path / "ids" / space / f"{first + number}.{ending}").write_text(text)
    (tmp_path / f"{GLUE_ID}.proto").write_text((SOURCES / "trip.proto").read_text())
    return str(tmp_path)


GLUE_ID = "6f3a2b1c-4d5e-4f60-8a7b-9c0d1e2f3a4b"


def test_every_value_of_java_serializers_is_what_their_deserializers_read(
    capfd: pytest.CaptureFixture[str], saved_by_java: str
) -> None:
    truth = json.loads(gzip.decompress((FOLDER / "java_values.json.gz").read_bytes()))
    rows = listed(capfd, str(FOLDER / "java.pcap.gz"), "--schemas", saved_by_java)
    assert [row["topic"] for row in rows] == [each["topic"] for each in truth]
    assert [row["value_error"] for row in rows] == [None] * len(truth)
    assert [row["decoded"]["value"] for row in rows] == [each["read"] for each in truth]
    assert {(row["topic"].partition("-")[2], row["value_wire_format"]) for row in rows} == {
        ("content4", "confluent"), ("global4", "confluent"), ("global8", "apicurio"), ("glue", "glue"),
        ("headers", "apicurio_content_id"), ("headers-g", "apicurio_global_id"),
    }  # fmt: skip


def test_the_name_of_a_protobuf_message_before_it(saved_by_java: str) -> None:
    schemas = load_schemas([saved_by_java])

    def read(data: bytes, *headers: tuple[str, bytes]) -> Any:
        reading = schemas.read("t", data, headers, False)
        return reading.error or reading.value

    confluent, apicurio = b"\0" + (73).to_bytes(4, "big"), b"\0" + (4714).to_bytes(8, "big")
    header = ("apicurio.value.globalId", (4714).to_bytes(8, "big"))
    line, named = b"\x0a\x03A-2\x10\x07", b"\x06\x0a\x04Line"
    cart = b"\x0a\x07" + line
    expected = {"sku": "A-2", "count": 7}
    assert read(apicurio + named + line) == read(confluent + named + line) == expected
    assert read(confluent + b"\x04\x02\x00" + line) == expected  # Confluent's indexes
    assert read(line, header, ("apicurio.protobuf.type", b"Line")) == expected  # releases before 3
    assert read(apicurio + cart)["tags"] == []  # the first message has no such field
    assert "no message 'Nobody'" in read(line, header, ("apicurio.protobuf.type", b"Nobody"))
    assert "no Protobuf message indexes" in read(confluent + b"\x07\x0a\x04Line" + line)
    assert "no message 'Pine'" in read(confluent + b"\x06\x0a\x04Pine" + line)
    glue = b"\3\0" + UUID(GLUE_ID).bytes
    assert read(glue + b"\1" + line) == expected
    assert "no message number 9" in read(glue + b"\x09" + line)
    assert "no number of a Protobuf message" in read(glue + b"\xff" * 9)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "hush"),
        ({"enum": ["x"]}, "hush"),
        ({"pattern": "^a$"}, "hush"),
        ({"maxLength": 1}, "hush"),
        ({"anyOf": [{"type": "null"}]}, "hush"),
        ({"items": [{"type": "integer"}], "additionalItems": False}, [1, "hush"]),
        ({"uniqueItems": True}, ["hush", "hush"]),
    ],
)
def test_errors_of_json_schemas_do_not_have_the_value(schema: dict[str, Any], value: Any) -> None:
    decode = decoder(json.dumps({"properties": {"a": schema}}), SchemaType.JSON)
    with pytest.raises(ValueFaultError) as found:
        decode(json.dumps({"a": value}).encode(), None)
    assert str(found.value).startswith("$.a: ")
    assert "hush" not in str(found.value)
