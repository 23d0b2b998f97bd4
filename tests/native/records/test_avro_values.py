"""The native engine reads values of Avro as Python does, in every style of JSON, and leaves others to it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastavro", reason="needs the extra schemas")

import fastavro

from kdissect.cli import main
from kdissect.cli.captures import records_command
from kdissect.cli.formats.jsonl import json_bytes
from kdissect.decoders.encoder import encode_request
from kdissect.engine.records.compiled_values import _exact
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.records.record_sets import RecordSet
from kdissect.model.native import native
from kdissect.report.printable import inert_json
from kdissect.serdes.avro import avro_decoder, avro_nodes
from kdissect.serdes.avro_walk import MAX_EMPTY_ITEMS
from kdissect.serdes.bounds import MAX_DEPTH
from kdissect.serdes.faults import ValueFaultError
from kdissect.serdes.registered import Registered, SchemaType
from tests.support.console import CAPTURES
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import Conversation
from tests.support.packets.pcaps import write_pcap

pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")

LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
SCHEMAS_FOLDER = CAPTURES / "schemas"


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


LEAVES: list[Any] = [
    "null", "boolean", "int", "long", "float", "double", "bytes", "string",
    logical("int", "date"), logical("int", "time-millis"), logical("long", "time-micros"),
    logical("long", "timestamp-millis"), logical("long", "timestamp-micros"),
    logical("long", "local-timestamp-millis"), logical("long", "local-timestamp-micros"),
    logical("long", "timestamp-nanos"), logical("string", "uuid"), logical("int", "uuid"),
    logical("bytes", "decimal", precision=6, scale=2), logical("bytes", "decimal", precision=30, scale=10),
    logical("bytes", "decimal", precision=4, scale=4), logical("bytes", "decimal", precision=9),
]  # fmt: skip


class Names:
    """Makes named types, each with a name of its own; `RECORD` is the record around them."""

    def __init__(self) -> None:
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return f"N{self.count}"


@st.composite
def schemas(draw: st.DrawFn) -> Any:
    names = Names()

    def one(depth: int, in_union: bool = False) -> Any:
        kinds = ["leaf", "leaf", "enum", "fixed", "decimal", "duration"]
        kinds += ["record", "array", "map", "self"] if depth < 3 else []
        kinds += [] if in_union or depth >= 3 else ["union", "union"]
        kind = draw(st.sampled_from(kinds))
        if kind == "leaf":
            return draw(st.sampled_from(LEAVES))
        if kind == "enum":
            return {"type": "enum", "name": names.next(), "symbols": ["A", "B_2"]}
        if kind in ("fixed", "decimal", "duration"):
            fixed = {"type": "fixed", "name": names.next(), "size": draw(st.integers(0, 13))}
            if kind == "decimal":
                return fixed | {"size": 9, "logicalType": "decimal", "precision": 12, "scale": 3}
            return fixed | {"size": 12, "logicalType": "duration"} if kind == "duration" else fixed
        if kind == "record":
            return record(depth + 1)
        if kind == "self":
            return ["null", "Whole"]
        if kind == "union":
            branches = [one(depth + 1, in_union=True) for _ in range(draw(st.integers(1, 3)))]
            by_kind = {
                json.dumps(b.get("name", b["type"]) if isinstance(b, dict) else b): b for b in branches
            }
            return [branch for branch in by_kind.values() if not isinstance(branch, list)] or ["null"]
        return {"type": kind, "items" if kind == "array" else "values": one(depth + 1)}

    def record(depth: int, name: str = "") -> Any:
        name = name or names.next()
        fields = [{"name": f"f{at}", "type": one(depth)} for at in range(draw(st.integers(0, 4)))]
        return {"type": "record", "name": name, "fields": fields}

    return record(0, "Whole")


def check(schema: Any, data: bytes) -> bool:
    """Compare both engines, and return whether the native engine reads the value."""
    registered = Registered("s", SchemaType.AVRO, json.dumps(schema), {})
    nodes = avro_nodes(registered)
    assert nodes is not None
    program = native.AvroProgram(nodes)
    try:
        value = avro_decoder(registered)(data, None)
    except ValueFaultError:
        assert program.text(data, "spaced") is None
        return False
    styles = {
        _exact("orjson"): json_bytes(value).decode(),
        "compact": inert_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))),
        "spaced": json.dumps(value, ensure_ascii=False),
    }
    found = {style: program.text(data, style) for style in styles}
    assert set(found.values()) == {None} or found == styles
    return None not in found.values()


@settings(deadline=None, max_examples=300)
@given(schemas(), st.binary(max_size=60), st.lists(st.integers(0, 40), max_size=40))
def test_any_bytes(schema: Any, data: bytes, small: list[int]) -> None:
    check(schema, data)
    check(schema, bytes(small))
    check(schema, bytes(60))


NUMBERS = {"type": "record", "name": "R", "fields": [
    {"name": "a", "type": "double"}, {"name": "b", "type": "float"}, {"name": "c", "type": "long"},
]}  # fmt: skip
TIMES = {"type": "record", "name": "R", "fields": [
    {"name": f"f{at}", "type": leaf} for at, leaf in enumerate(LEAVES)
    if isinstance(leaf, dict) and leaf["type"] in ("int", "long")
]}  # fmt: skip


def written(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return stream.getvalue()


@settings(deadline=None, max_examples=300)
@given(st.floats(), st.floats(width=32), LONGS)
def test_numbers(double: float, single: float, number: int) -> None:
    assert check(NUMBERS, written(NUMBERS, {"a": double, "b": single, "c": number}))


@settings(deadline=None, max_examples=300)
@given(st.integers(-4, 400), st.floats(1, 9.999, exclude_max=True))
def test_numbers_where_exponents_begin(exponent: int, number: float) -> None:
    value = float(f"{round(number, 3)}e{exponent % 40 - 20}")
    assert check(NUMBERS, written(NUMBERS, {"a": value, "b": -value, "c": 0}))


MOMENTS = st.one_of(
    st.integers(-10, 90_000_000), st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-800_000, 3_000_000),
    st.integers(-62_135_596_800_001, 253_402_300_800_001), st.integers(1_700_000_000_000, 1_800_000_000_000),
    st.integers(-62_135_596_800_000_001, 253_402_300_800_000_001), st.integers(0, 86_400_000_001), LONGS,
)  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.sampled_from([field["type"] for field in TIMES["fields"]]), MOMENTS)
def test_dates_and_times(leaf: Any, moment: int) -> None:
    check(leaf, written("long", moment))


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=20), st.integers(1, 40), st.integers(0, 40))
def test_decimals(unscaled: bytes, precision: int, scale: int) -> None:
    scale = min(scale, precision)
    leaf = logical("bytes", "decimal", precision=precision, scale=scale)
    check(
        {"type": "record", "name": "R", "fields": [{"name": "f", "type": leaf}]}, written("bytes", unscaled)
    )


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(st.text(max_size=4), st.text(max_size=12), max_size=5))
def test_texts(texts: dict[str, str]) -> None:
    schema = {"type": "map", "values": "string"}
    assert check(schema, written(schema, texts))


def test_what_is_left_to_python() -> None:
    text = {"type": "map", "values": "string"}
    assert not check(text, bytes.fromhex("04 0261 0262 0261 0263 00"))  # a name twice: the last one counts
    deep = {"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", "R"]}]}
    assert check(deep, b"\2" * (MAX_DEPTH - 1) + b"\0")
    assert not check(deep, b"\2" * (MAX_DEPTH + 1) + b"\0")
    empty = {"type": "array", "items": "null"}
    assert not check(empty, written("long", MAX_EMPTY_ITEMS + 1) + b"\0")
    assert not check(empty, written("long", (1 << 62)) + b"\0")
    assert check(empty, written("long", 3) + b"\0")
    assert not check("string", b"\x04\xc3\x28")
    assert not check("string", b"\x02aa")
    assert not check("long", b"\xff" * 9 + b"\x02")
    assert not check("bytes", b"\x01")
    assert check("boolean", b"\x07")


ORDER = {"type": "record", "name": "Order", "fields": [
    {"name": "id", "type": "long"}, {"name": "total", "type": "double"},
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "day", "type": logical("int", "date")}, {"name": "raw", "type": "bytes"},
]}  # fmt: skip


def order(number: int, note: str | None = None) -> bytes:
    return written(ORDER, {"id": number, "total": number * 1e15, "note": note, "day": number, "raw": b"\0a"})


def of_id(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def batches() -> list[tuple[str, list[dict[str, Any]]]]:
    """Return records by topic that both engines read, and for one reason each some that Python reads."""
    headers = [("__value_schema_id", b"\0" + (1).to_bytes(4, "big"))]
    apicurio = [("a", None), ("apicurio.value.contentId", (1).to_bytes(8, "big")), ("a", b"\xff")]
    usual = [{"key": b"k%d" % at, "value": of_id(1, order(at))} for at in range(3)]
    return [
        ("orders", usual),
        (
            "orders",
            [{"key": None, "value": None}, {"key": of_id(2, b"\x06=\xc3\xa9"), "value": of_id(1, order(9))}],
        ),
        ("orders", [*usual, {"key": b"k", "value": of_id(1, b"\2")}]),  # a poison pill
        ("orders", [*usual, {"key": b"k", "value": of_id(77, b"\2")}]),
        ("orders", [*usual, {"key": b"k", "value": b"text"}, {"key": b"k", "value": b'{"id": 1}'}]),
        ("orders", [{"key": b"k", "value": of_id(4, written("double", 1e16))}]),  # another subject
        ("orders", [{"key": of_id(2, b"\x02\n"), "value": of_id(1, order(1, 'a"b\\\u202e\t\x7f\u00a0'))}]),
        ("orders", [{"key": b"\0" * 8, "value": of_id(3, b"\4\2\4\0")}]),
        ("orders", [{"key": of_id(2, b"\4ab"), "value": of_id(2, b"\4cd")}]),  # as long as a number
        ("headers", [{"key": b"", "value": order(2), "headers": headers}]),
        ("headers", [{"key": b"k", "value": order(2), "headers": apicurio}, *usual]),
        ("raw", [{"key": b"k", "value": order(5)}, {"key": b"k", "value": order(6, "=1+1")}]),
        ("other", [{"key": b"k", "value": b"plain"}, {"key": b"", "value": b"\0\0"}]),
    ]


@pytest.fixture
def capture(tmp_path: Path) -> list[str]:
    """Return arguments of `records`: a capture of all, its schemas, and a file that maps a topic."""
    talk = Conversation().handshake()
    for number, (topic, records) in enumerate(batches()):
        content = b"".join(record_bytes(at, 0, **record) for at, record in enumerate(records))  # type: ignore[arg-type]
        batch = batch_bytes(content, len(records), last_delta=len(records) - 1)
        topics = [{"name": topic, "partition_data": [{"index": number % 2, "records": batch}]}]
        body = {"acks": -1, "timeout_ms": 1, "topic_data": topics}
        talk.client(encode_request(0, 9, number, ("shop", "web")[number % 2], body))
    write_pcap(tmp_path / "a.pcap", talk.packets)
    answers = [
        {"id": number, "subject": subject, "version": 1, "schema": json.dumps(schema)}
        for number, subject, schema in (
            (1, "orders-value", ORDER),
            (2, "orders-key", "string"),
            (3, "lists-value", {"type": "array", "items": "int"}),
            (4, "totals-value", "double"),
        )
    ]
    (tmp_path / "a.json").write_text(json.dumps(answers))
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "topics.toml").write_text('[topics]\nraw = "order.avsc"\n')
    given = [str(tmp_path / name) for name in ("a.json", "topics.toml")]
    return [str(tmp_path / "a.pcap"), "--schemas", given[0], "--schemas", given[1]]


RECORDED = [str(SCHEMAS_FOLDER / "schemas.pcap"), "--schemas", str(SCHEMAS_FOLDER / "registry"),
            "--schemas", str(SCHEMAS_FOLDER / "sources" / "topics.toml")]  # fmt: skip
COLUMNS = "topic,offset,value_schema_id,key_schema,decoded,decoded.key,decoded.value,value_message_indexes"
ASKED = [
    ("tsv",), ("csv",), ("jsonl",), ("tsv", "-e", COLUMNS), ("csv", "-e", COLUMNS), ("jsonl", "-e", COLUMNS),
    ("csv", "-e", "decoded.value"), ("jsonl", "--limit", "5"),
    ("jsonl", "--topic", "orders", "--value-format", "hex"), ("csv", "-e", "+decoded"),
]  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
@pytest.mark.parametrize("is_made", [True, False])
def test_lines_are_those_of_python(
    asked: tuple[str, ...],
    is_made: bool,
    capture: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = capture if is_made else RECORDED
    found = []
    for is_native in (True, False):
        if not is_native:
            monkeypatch.setattr(records_command, "is_compiled", False)
        assert main(["records", *given, "--format", *asked]) == 0
        found.append(capfd.readouterr())
    assert found[0] == found[1]
    assert "fault of kdissect" not in found[0].err and found[0].out.count("\n") > 4


@pytest.mark.parametrize("columns", [(), ("-e", "topic,decoded,value_schema_guid,key_schema")], ids=str)
def test_parquet_is_that_of_python(
    columns: tuple[str, ...],
    capture: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    tables, said = [], []
    for is_native in (True, False):
        if not is_native:
            monkeypatch.setattr(records_command, "is_compiled", False)
        assert main(["records", *capture, "--format", "parquet", "-o", str(tmp_path / "a"), *columns]) == 0
        said.append(capfd.readouterr().err)
        tables.append(parquet.read_table(tmp_path / "a"))
    assert tables[0].schema == tables[1].schema
    assert tables[0].to_pylist() == tables[1].to_pylist()
    assert said[0] == said[1] and "poison pill" in said[0]


def test_only_fields_with_something_unusual_are_left_to_python(
    capture: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this test all could be Python's, and slow."""
    read: list[str | None] = []
    rows = RecordRows.rows

    def counted(self: RecordRows, records: RecordSet, *others: Any) -> Any:
        read.append(records.records_field.topic)
        return rows(self, records, *others)

    monkeypatch.setattr(RecordRows, "rows", counted)
    assert main(["records", *capture, "--format", "tsv"]) == 0
    assert read == ["orders"] * 5  # the pill, the unknown id, JSON, escapes in a key, a list as a cell
    capfd.readouterr()
