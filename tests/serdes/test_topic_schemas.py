"""Schemas of one topic that do not go together, and schemas of readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastavro", reason="needs the extra schemas")
pytest.importorskip("jsonschema", reason="needs the extra schemas")

from kdissect.cli import main
from kdissect.engine.records import topic_schemas
from kdissect.engine.records.topic_schemas import TopicSchemas
from kdissect.serdes.faults import SchemaError
from kdissect.serdes.schema_files import load_schemas
from kdissect.serdes.schemas import Schemas
from tests.support.console import CAPTURES


def avro(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NAME = {"name": "name", "type": "string"}
OPTIONAL = NAME | {"default": ""}


def saved(folder: Path, *answers: tuple[int, str, int, str] | tuple[int, str, int, str, str]) -> Schemas:
    """Return schemas by number, subject, version, text, and type unless it is Avro."""
    contents = [
        {
            "id": one[0],
            "subject": one[1],
            "version": one[2],
            "schema": one[3],
            "schemaType": (*one, "AVRO")[4],
        }
        for one in answers
    ]
    (folder / "a.json").write_text(json.dumps(contents))
    return load_schemas([str(folder / "a.json")])


def found(schemas: Schemas, *values: bytes, topic: str = "t", by: str = "shop") -> list[str]:
    """Return what is reported of values that one client writes."""
    topics = TopicSchemas()
    for offset, content in enumerate(values):
        add(topics, schemas, content, offset, topic, by)
    return list(topics.lines())


def add(
    topics: TopicSchemas, schemas: Schemas, content: bytes, offset: int, topic: str = "t", by: str = "shop"
) -> None:
    row = {
        "topic": topic, "topic_id": None, "partition": 0, "offset": offset, "file": "a.pcap",
        "packet": offset + 1, "direction": "produce", "principal": None, "client_id": by, "client": "c:1",
    }  # fmt: skip
    topics.add(row, "value", schemas.read(topic, content, (), False), content, schemas)


def of_id(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def test_schemas_that_go_together_are_not_reported(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)), (2, "t-value", 2, avro(ID, OPTIONAL)))
    assert found(schemas, of_id(1, b"\2"), of_id(2, b"\2\2a"), of_id(1, b"\4")) == []
    assert found(schemas, b"text", b"other") == []


def test_an_id_that_no_schema_has(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)))
    unknown = of_id(9, b"\2")
    assert found(schemas, of_id(1, b"\2"), unknown, unknown) == [
        "unknown schema: values of t: no given schema has id 9 (2 written, by 'shop' (c:1); "
        "first a.pcap packet 2, partition 0 offset 1)"
    ]
    assert found(schemas, unknown, unknown) == [], "any bytes may begin with a zero byte"


def test_two_subjects_in_one_topic(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "orders", 1, avro(ID)), (2, "users", 3, avro(ID)))
    (line,) = found(schemas, of_id(1, b"\2"), of_id(1, b"\2"), of_id(2, b"\2"))
    assert line.startswith("two subjects: values of t: users v3 (1 written, by 'shop' (c:1); ")
    assert "and orders v1 (2 written" in line


@pytest.mark.parametrize("before", ["", "t-"])
def test_subjects_by_record_are_intended(tmp_path: Path, before: str) -> None:
    named = [avro(ID).replace('"R"', f'"{name}", "namespace": "shop"') for name in ("Order", "Refund")]
    answers = [
        (1, f"{before}shop.Order", 1, named[0]),
        (2, f"{before}shop.Refund", 1, named[1]),
        (3, f"{before}shop.Seen", 1, '{"type": "object", "title": "shop.Seen"}', "JSON"),
        (4, "users-value", 1, avro(ID)),
    ]
    schemas = saved(tmp_path, *answers)
    values = of_id(1, b"\2"), of_id(2, b"\2"), of_id(3, b"{}")
    assert found(schemas, *values) == []
    (line,) = found(schemas, *values, of_id(4, b"\2"))
    assert line.startswith("two subjects: values of t: users-value v1")


def test_the_subject_of_the_topic_is_the_expected_one(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)), (2, "users-value", 3, avro(ID)))
    (line,) = found(schemas, of_id(2, b"\2"), of_id(1, b"\2"))
    assert line.startswith("two subjects: values of t: users-value v3")


def test_what_may_have_an_id_is_not_without_a_schema(tmp_path: Path) -> None:
    """Eight bytes may be a number, or an id and three bytes."""
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)))
    assert found(schemas, of_id(1, b"\2"), of_id(9, b"\2\2a")) == []


def test_values_without_a_schema_among_others(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)))
    (line,) = found(schemas, b"text", of_id(1, b"\2"), b"text")
    assert line.startswith("no schema: values of t have schemas, but these have none: 2 written")


def test_a_change_that_new_readers_cannot_follow(tmp_path: Path) -> None:
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)), (2, "t-value", 2, avro(ID, NAME)))
    for values in ((of_id(1, b"\2"), of_id(2, b"\2\2a")), (of_id(2, b"\2\2a"), of_id(1, b"\2"))):
        (line,) = found(schemas, *values)
        assert line.startswith(
            "incompatible schema: values of t: a reader with t-value v2 cannot read t-value v1: "
            "field 'name' is missing, and has no default (1 written"
        )


def test_a_change_that_only_old_readers_cannot_follow_is_compatible(tmp_path: Path) -> None:
    """BACKWARD: the new version drops a field that the old one requires."""
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)), (2, "t-value", 2, avro(OPTIONAL)))
    values = of_id(1, b"\2"), of_id(2, b"\2a")
    assert found(schemas, *values) == found(schemas, *reversed(values)) == []


def test_only_versions_that_follow_each_other_are_compared(tmp_path: Path) -> None:
    """Version 3 reads what version 2 writes, which reads what version 1 writes."""
    versions = avro(ID), avro(ID, OPTIONAL), avro(ID, NAME)
    schemas = saved(tmp_path, *((n, "t-value", n, text) for n, text in enumerate(versions, 1)))
    assert found(schemas, of_id(1, b"\2"), of_id(3, b"\2\2a")) == []
    assert found(schemas, of_id(3, b"\2\2a"), of_id(1, b"\2"), of_id(2, b"\2\2a")) == []
    two = saved(tmp_path, (1, "t-value", 1, avro(ID)), (2, "u-value", 2, avro(ID, NAME)))
    assert not [line for line in found(two, of_id(1, b"\2"), of_id(2, b"\2\2a")) if "incompatible" in line]


PROTO = (
    'syntax = "proto3"; package shop; {first}message Order {{ {kind} name = 1; }} '
    "message Name {{ int64 x = 1; }}"
)


@pytest.mark.parametrize(("kind", "is_compatible"), [("bytes", True), ("int64", True), ("Name", False)])
def test_changes_of_protobuf_schemas(tmp_path: Path, kind: str, is_compatible: bool) -> None:
    """A field of another wire type is an unknown field, and bytes may be no message."""
    pytest.importorskip("google.protobuf", reason="needs the extra schemas")
    pytest.importorskip("grpc_tools", reason="needs the extra schemas")
    first = PROTO.format(kind="string", first="")
    second = PROTO.format(kind=kind, first="message Other { string name = 1; } ")
    schemas = saved(
        tmp_path, *((n, "t-value", n, one, "PROTOBUF") for n, one in enumerate((first, second), 1))
    )
    new = {"bytes": b"\x0a\1a", "int64": b"\x08\1", "Name": b"\x0a\2\x08\1"}[kind]
    lines = found(schemas, of_id(1, b"\0\x0a\1a"), of_id(2, b"\2\2" + new))
    assert [line.partition(": no message")[0] for line in lines] == (
        []
        if is_compatible
        else ["incompatible schema: values of t: a reader with t-value v2 cannot read t-value v1"]
    )


def test_messages_inside_of_others_are_records_of_subjects(tmp_path: Path) -> None:
    """Their full names have the outer message."""
    pytest.importorskip("grpc_tools", reason="needs the extra schemas")
    text = 'syntax = "proto3"; package shop; message Outer { message Inner { int64 id = 1; } }'
    subjects = "shop.Outer", "shop.Outer.Inner", "shop.Inner"
    schemas = saved(tmp_path, *((n, one, 1, text, "PROTOBUF") for n, one in enumerate(subjects, 1)))
    lines = found(schemas, *(of_id(n, b"\0") for n in (1, 2, 3)))
    assert [line.partition(" (")[0] for line in lines] == ["two subjects: values of t: shop.Inner v1"]


def test_changes_of_json_schemas(tmp_path: Path) -> None:
    texts = ['{"type": "object"}', '{"type": "object", "required": ["id"]}']
    schemas = saved(tmp_path, *((n, "t-value", n, text, "JSON") for n, text in enumerate(texts, 1)))
    (line,) = found(schemas, of_id(1, b"{}"), of_id(2, b'{"id": 1}'))
    assert "a reader with t-value v2 cannot read t-value v1: $: 'id' is a required property" in line


def test_topics_and_schemas_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_schemas, "MAX_TOPICS", 3)
    monkeypatch.setattr(topic_schemas, "MAX_SCHEMAS", 4)
    schemas = saved(tmp_path, (1, "t-value", 1, avro(ID)))
    topics = TopicSchemas()
    for number in range(1, 11):
        add(topics, schemas, of_id(number, b"\2"), number)
        add(topics, schemas, of_id(1, b"\2"), number, f"t{number}")
    lines = list(topics.lines())
    assert sum(line.startswith("unknown schema") for line in lines) == 3
    assert lines[-1] == "schemas of topics: 14 keys or values left out"


def test_the_command_reports_them(capfd: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "schemas" / "schemas.pcap")
    assert main(["records", path, "--schemas", str(CAPTURES / "schemas" / "registry"), "-e", "offset"]) == 0
    err = capfd.readouterr().err
    assert "kdissect: unknown schema: values of orders: no given schema has id 999 (1 written" in err
    assert "kdissect: no schema: values of orders have schemas, but these have none: 1 written" in err


def test_a_reader_has_a_schema_of_its_own(tmp_path: Path) -> None:
    saved(tmp_path, (1, "t-value", 1, avro(ID)))
    (tmp_path / "new.avsc").write_text(avro(ID, OPTIONAL))
    (tmp_path / "strict.avsc").write_text(avro(ID, NAME))
    (tmp_path / "m.toml").write_text(
        '[topics.t]\nvalue_reader = "new.avsc"\n'
        '[topics.u]\nvalue = "new.avsc"\nvalue_reader = "strict.avsc"\n'
        '[topics.v]\nvalue_reader = "strict.avsc"\n'
    )
    schemas = load_schemas([str(tmp_path / "a.json"), str(tmp_path / "m.toml")])
    assert schemas.read("t", of_id(1, b"\2"), (), False).value == {"id": 1, "name": ""}
    assert schemas.read("other", of_id(1, b"\2"), (), False).value == {"id": 1}
    assert schemas.read("u", b"\2\2a", (), False).value == {"id": 1, "name": "a"}
    cannot = schemas.read("v", of_id(1, b"\2"), (), False)
    assert cannot.is_fault and "the reader's schema does not fit" in (cannot.error or "")


def test_readers_read_avro_only(tmp_path: Path) -> None:
    saved(tmp_path, (1, "t-value", 1, '{"type": "object"}', "JSON"), (2, "t-value", 2, avro(ID)))
    (tmp_path / "r.avsc").write_text(avro(ID))
    (tmp_path / "m.toml").write_text('[topics.t]\nvalue_reader = "r.avsc"\n')
    schemas = load_schemas([str(tmp_path / "a.json"), str(tmp_path / "m.toml")])
    read = schemas.read("t", of_id(1, b"{}"), (), False)
    assert read.error == "t-value v1: only Avro has schemas of readers" and not read.is_fault
    (tmp_path / "m.toml").write_text('[topics.t]\nwriter = "r.avsc"\n')
    with pytest.raises(SchemaError, match="key, value, key_reader, value_reader name files"):
        load_schemas([str(tmp_path / "m.toml")])
