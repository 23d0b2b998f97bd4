"""The text form: what parses to what, and where an error points."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.model.errors import SchemaError
from kdissect.schema.field_tokens import parse_versions
from kdissect.schema.schema_parser import camel_case, parse_schema, snake_case
from kdissect.schema.types import NO_VERSIONS, Array, MessageKind, Primitive, Struct, Versions

FETCH = """\
# a comment
request FetchRequest  key 1  versions 0-18  flexible 12+   # gone: 0-3 in 4.0
  ClusterId: string?(null)  12+ tag 0
  ReplicaId: int32(-1)  0-14 @brokerId @enum(replicaId)

  Topics: []FetchTopic?7-9  0+
    Topic: string  0-12 @topicName
    Shares: []Shared  13+
  Last: Shared  13+ tag 1 14+
  Secret: bytes?  0+ @secret
  Error: int16  0+ @error

struct Shared
  Id: uuid  13+

response FetchResponse  key 1  versions 0-18  flexible 12+
"""


def test_a_request() -> None:
    request, response = parse_schema(FETCH, "fetch")
    assert (request.name, request.kind, request.api_key) == ("FetchRequest", MessageKind.REQUEST, 1)
    assert (request.versions, request.flexible) == (Versions(0, 18), Versions(12, 32767))
    cluster, replica, topics, last, secret, error = request.root.fields
    assert (cluster.name, cluster.official_name) == ("cluster_id", "ClusterId")
    assert (cluster.type, cluster.tag, cluster.default) == (Primitive.STRING, 0, None)
    assert cluster.nullable == cluster.tagged == cluster.versions == Versions(12, 32767)
    assert (replica.default, replica.versions, replica.nullable) == (-1, Versions(0, 14), NO_VERSIONS)
    assert (replica.entity, replica.enum, replica.tag) == ("brokerId", "replicaId", None)
    assert (topics.nullable, topics.default) == (Versions(7, 9), ())
    assert (last.versions, last.tagged) == (Versions(13, 32767), Versions(14, 32767))
    assert secret.is_secret
    assert error.is_error
    assert response.kind is MessageKind.RESPONSE
    assert response.root.fields == ()


def test_structs_are_shared_not_copied() -> None:
    request, _ = parse_schema(FETCH, "fetch")
    topics, last = request.root.fields[2], request.root.fields[3]
    assert isinstance(topics.type, Array)
    assert isinstance(topics.type.element, Struct)
    shares = topics.type.element.fields[1]
    assert isinstance(shares.type, Array)
    assert shares.type.element is last.type
    assert [field.name for field in topics.type.element.fields] == ["topic", "shares"]


def test_a_struct_within_itself() -> None:
    text = "payload Tree  versions 0  flexible none\n  Root: Node  0\nstruct Node\n  Next: []Node  0\n"
    (tree,) = parse_schema(text, "tree")
    node = tree.root.fields[0].type
    assert isinstance(node, Struct)
    assert node.fields[0].type == Array(node)


def test_kinds_without_a_key() -> None:
    text = "header H  versions 0-1  flexible 1+\nrecord R  type 7  versions 1  flexible none\n"
    header, record = parse_schema(text, "x")
    assert (header.kind, header.api_key, header.record_type) == (MessageKind.HEADER, None, None)
    assert (record.kind, record.record_type, record.versions) == (MessageKind.RECORD, 7, Versions(1, 1))
    assert record.flexible == NO_VERSIONS
    assert not record.is_flexible(1)


@pytest.mark.parametrize(
    ("written", "default"),
    [
        ("bool", False),
        ("bool(true)", True),
        ("int8", 0),
        ("int64(-2)", -2),
        ("float64", 0.0),
        ("float64(1.5)", 1.5),
        ("uuid", bytes(16)),
        ("string", ""),
        ('string("a")', "a"),
        ("string?(null)", None),
        ("bytes", b""),
        ("records?", None),
        ("[]int32", ()),
        ("[]int32?(null)", None),
    ],
)
def test_defaults_are_typed(written: str, default: object) -> None:
    (message,) = parse_schema(f"payload P  versions 0  flexible none\n  A: {written}  0+\n", "x")
    found = message.root.fields[0].default
    assert found == default
    assert type(found) is type(default)


@pytest.mark.parametrize(
    ("word", "versions"),
    [("3", (3, 3)), ("0-14", (0, 14)), ("12+", (12, 32767)), ("none", (0, -1))],
)
def test_versions_read_and_print(word: str, versions: tuple[int, int]) -> None:
    assert parse_versions(word) == versions
    assert str(parse_versions(word)) == word


HEAD = "payload P  versions 0-3  flexible none\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("thing X  versions 0  flexible none", "f:1: 'thing' starts no block"),
        ("request X  versions 0  flexible none", "f:1: requests and responses have a key"),
        ("payload X  key 3  versions 0  flexible none", "f:1: requests and responses have a key"),
        ("payload X  versions 0", "f:1: payload X has no 'flexible'"),
        ("payload X  versions", "f:1: a block is"),
        ("payload X  versions 0  flexible none  colour red", "f:1: unknown word 'colour'"),
        ("request X  key one  versions 0  flexible none", "f:1: 'one' is no number"),
        ("payload X  versions zero  flexible none", "f:1: 'zero' is no version range"),
        ("  A: int8  0+", "f:1: indented deeper"),
        ("struct S", "f:1: a struct belongs to the message above it"),
        (HEAD + "struct A B", "f:2: a struct block is"),
        (HEAD + "   A: int8  0+", "f:2: indented by 3 spaces"),
        (HEAD + "  A int8 0+", "f:2: a field is"),
        (HEAD + "  A: int8", "f:2: a field is"),
        (HEAD + "  A: int9  0+", "f:2: unknown type 'int9'"),
        (HEAD + "  A: int8  0+ tag", "f:2: 'tag' is neither"),
        (HEAD + "  A: int8  0+ tag x", "f:2: 'x' is no number"),
        (HEAD + "  A: int8  0+ @colour", "f:2: unknown annotation '@colour'"),
        (HEAD + "  A: int8  0+ secret", "f:2: 'secret' is neither"),
        (HEAD + "  A: int8(x)  0+", "f:2: the default 'x' does not fit int8"),
        (HEAD + "  A: bool(1)  0+", "f:2: the default '1' does not fit bool"),
        (HEAD + "  A: uuid(1)  0+", "f:2: the default '1' does not fit uuid"),
        (HEAD + "  A: []int8(1)  0+", "f:2: an array's default can only be null"),
        (HEAD + "  A: int8(1  0+", "f:2: 'int8(1': the default is not closed"),
        (HEAD + "  A: int8  0+\n    B: int8  0+", "f:3: indented deeper"),
        (HEAD + "  A: S  0+\n      B: int8  0+", "f:3: indented deeper"),
        (HEAD + "  A: S  0+\n  B: int8  0+", "f:2: struct S is not defined"),
        (HEAD + "  A: S  0+\n    B: int8  0+\nstruct S\n  B: int8  0+", "f:4: struct S is defined twice"),
        (HEAD + "  A: int8  0+\nstruct S\n  B: int8  0+", "f:3: struct S is used by no field"),
    ],
)
def test_errors_name_file_and_line(text: str, error: str) -> None:
    with pytest.raises(SchemaError) as raised:
        parse_schema(text + "\n", "f")
    assert str(raised.value).startswith(error)


@given(st.text(alphabet="requst KPA:[]?()+-0123#@ \n", max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_parses_or_says_where_it_is_wrong(tail: str) -> None:
    try:
        parse_schema(HEAD + tail, "f")
    except SchemaError as error:
        assert str(error).startswith("f:")


@pytest.mark.parametrize(
    ("official", "name"),
    [
        ("ReplicaId", "replica_id"),
        ("isKRaftController", "is_kraft_controller"),
        ("V3AndBelowProducerId", "v3_and_below_producer_id"),
        ("Enable2Pc", "enable2_pc"),
        ("timeoutMs", "timeout_ms"),
        ("key", "key"),
    ],
)
def test_snake_case(official: str, name: str) -> None:
    assert snake_case(official) == name


def test_camel_case() -> None:
    assert camel_case("list_offsets") == "ListOffsets"
