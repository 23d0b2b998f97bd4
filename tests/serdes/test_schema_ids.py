"""Ids of schemas in keys, values and headers."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdissect.cli import main
from kdissect.serdes.schema_ids import SchemaId, WireFormat, message_indexes, schema_id
from tests.support.console import CAPTURES

SCHEMAS = CAPTURES / "schemas"
CAPTURE = str(SCHEMAS / "schemas.pcap")
ANSWERS = json.loads((SCHEMAS / "registry" / "schemas.json").read_text())
GUID = next(answer["guid"] for answer in ANSWERS if answer["subject"] == "orders-h-value")
IDS = [f"{part}_{name}" for part in ("key", "value") for name in
       ("wire_format", "schema_id", "schema_guid", "message_indexes")]  # fmt: skip
HEADER = (("__value_schema_id", b"\1" + UUID(GUID).bytes),)


def listed(capfd: pytest.CaptureFixture[str], *options: str) -> list[dict[str, Any]]:
    assert main(["records", CAPTURE, "--format", "jsonl", *options]) == 0
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\0\0\0\0\7abcdef", SchemaId(WireFormat.MAYBE_CONFLUENT, 7, start=5)),
        (b"\0\0\0\0\0\0\0\0\7ab", SchemaId(WireFormat.MAYBE_APICURIO, 7, start=9)),
        (b"\3\0" + UUID(GUID).bytes + b"x", SchemaId(WireFormat.GLUE, None, GUID, start=18)),
        (b"\3\5" + UUID(GUID).bytes + b"x", SchemaId(WireFormat.GLUE, None, GUID, start=18, is_zlib=True)),
        (b"\0\0\0\0\7", None),  # nothing that the id could be of
        ((7 << 32).to_bytes(8, "big"), None),  # a long, as LongSerializer writes it
        ((1_700_000_000_000).to_bytes(8, "big"), None),
        (bytes(8), None),
        (bytes(30), None),
        (b"\0\xff\0\0\7abcdef", None),  # no positive int
        (b"\3\1" + UUID(GUID).bytes + b"x", None),
        (b"\3\0" + bytes(16) + b"x", None),  # no random UUID
        (b'{"a": 1}', None),
        (b"", None),
        (None, None),
    ],
)
def test_ids_before_values(content: bytes | None, found: SchemaId | None) -> None:
    assert schema_id(content, (), False) == found
    assert schema_id(content, (), True) == found


def test_ids_in_headers() -> None:
    assert schema_id(b"x", HEADER, False) == SchemaId(WireFormat.CONFLUENT_HEADER, None, GUID)
    assert schema_id(b"x", HEADER, True) is None  # it is of the value
    ids = (("__key_schema_id", b"\0\0\0\0\7"), *HEADER)
    assert schema_id(b"x", ids, True) == SchemaId(WireFormat.CONFLUENT_HEADER, 7)
    indexed = ((HEADER[0][0], HEADER[0][1] + b"\4\2\0"),)
    assert schema_id(b"x", indexed, False) == SchemaId(WireFormat.CONFLUENT_HEADER, None, GUID, (1, 0))
    for odd in (b"", b"\1", b"\2" + bytes(16), HEADER[0][1] + b"\4\2", HEADER[0][1] + b"\0\0", None):
        assert schema_id(b"x", ((HEADER[0][0], odd),), False) is None
    long = (9).to_bytes(8, "big")
    for name, where in (
        ("apicurio.value.globalId", WireFormat.APICURIO_GLOBAL_ID),
        ("apicurio.value.contentId", WireFormat.APICURIO_CONTENT_ID),
    ):
        assert schema_id(b"x", ((name, long),), False) == SchemaId(where, 9)
        assert schema_id(b"x", ((name, long[1:]),), False) is None


@given(st.binary(max_size=30), st.lists(st.tuples(st.sampled_from(["__value_schema_id", "a", b"\xff"]),
       st.none() | st.binary(max_size=30)), max_size=3), st.booleans())  # fmt: skip
def test_any_bytes_raise_nothing(content: bytes, headers: list[Any], is_key: bool) -> None:
    found = schema_id(content, headers, is_key)
    assert found is None or (found.number is None) != (found.guid is None)
    message_indexes(content, 0)


def test_columns_of_what_serializers_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    """Ids and GUIDs are those of the registry that the serializers had."""
    rows = listed(capfd, "-e", ",".join(["topic", *IDS]))
    for topic in ("orders-h", "visits-h", "users-h"):
        guid = next(each["guid"] for each in ANSWERS if each["subject"] == f"{topic}-value")
        found = [row for row in rows if row["topic"] == topic]
        assert found
        assert {row["value_schema_guid"] for row in found} == {guid}
        assert {row["value_wire_format"] for row in found} == {"confluent_header"}
    assert [row["value_message_indexes"] for row in rows if row["topic"] == "visits-h"] == ["0", "0", "1,0"]
    for topic in ("orders", "visits", "users", "trees"):
        number = next(each["id"] for each in ANSWERS if each["subject"] == f"{topic}-value")
        found = [row for row in rows if row["topic"] == topic and row["value_schema_id"] not in (None, 999)]
        assert {(row["value_schema_id"], row["value_wire_format"]) for row in found} == {
            (number, "maybe_confluent")
        }
    assert {row["value_wire_format"] for row in rows if row["topic"] == "orders-glue"} == {"glue"}
    assert {row["value_wire_format"] for row in rows if row["topic"] == "orders-raw"} == {None}
    assert {row["key_wire_format"] for row in rows} == {None}


def test_rows_have_them_only_where_they_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert not set(IDS) & set(listed(capfd)[0])
    sorted_rows = listed(capfd, "--sort", "value_schema_id", "-e", "topic")
    assert sorted_rows[0] == {"topic": "orders"}  # id 999 first


def test_filters_choose_records(capfd: pytest.CaptureFixture[str]) -> None:
    def topics(filter_text: str) -> list[str]:
        return [row["topic"] for row in listed(capfd, "-Y", filter_text, "-e", "topic")]

    assert topics("value_schema_id == 999") == ["orders"]
    assert topics(f"value_schema_guid == {GUID} and key in (k3, k4)") == ["orders-h"] * 2
    assert set(topics("value_wire_format == glue")) == {"orders-glue"}
    assert topics('header["apicurio.value.globalId"]') == ["orders-apicurio-h"]
    assert topics("header['__value_schema_id'] and topic == users-h") == ["users-h"]
    assert topics("value.id == 1") == ["orders"]
    assert topics("value.id > 0.5 and value.id < 2") == ["orders"]
    assert topics("value == null") == ["orders"]
    assert topics("api == Fetch and value.id == 1") == []
    assert topics("value.id != 1") == []  # a field that is not there passes no comparison
    assert topics("value.id != 2") == ["orders"]
    assert len(topics("not value.id")) == len(topics("number > 0")) - 1


def test_filters_choose_exchanges_by_their_records(capfd: pytest.CaptureFixture[str]) -> None:
    options = ("--format", "tsv", "-e", "topics", "--no-header")
    assert main(["inspect", CAPTURE, "-Y", "count(value.id) == 1 or value_schema_id == 999", *options]) == 0
    assert capfd.readouterr().out == "orders\norders\n"


def test_parquet_has_them_where_they_are_named(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "out.parquet"
    assert main(["records", CAPTURE, "-o", str(out)]) == 0
    assert not set(IDS) & set(pa.read_table(out).column_names)
    assert main(["records", CAPTURE, "-o", str(out), "-e", "topic,value_schema_id,value_wire_format"]) == 0
    rows = pa.read_table(out).to_pylist()
    assert rows[0] == {"topic": "orders", "value_schema_id": 2, "value_wire_format": "maybe_confluent"}


def test_the_table_of_records_has_them(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "out"
    assert main(["tables", CAPTURE, "--output", str(out), "--tables", "records"]) == 0
    table = pa.read_table(out / "records")
    assert set(IDS) <= set(table.column_names)
    assert GUID in table.column("value_schema_guid").to_pylist()
