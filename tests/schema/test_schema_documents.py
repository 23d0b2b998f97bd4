"""Oracle (d): the documents the protocol was published in. Where they differ from what shipped, this says so.

docs/disagreements.md tells readers what the constants here list; the last test holds the two together.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kdissect.schema import error_codes as errors
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import response_header_version
from kdissect.schema.types import Message
from tests.schema.protocol_grammar import Body, read_bodies
from tests.schema.schema_layout import Entry, Layout, layout, signature

GUIDE = "000-protocol-guide-0.10.txt"
MESSAGES = "003-protocol-messages-1.0.txt"
FRAMING = "004-message-format-and-requirements.txt"
DISAGREEMENTS = Path(__file__).parents[2] / "docs" / "disagreements.md"

# Names that two APIs have in document 000 alone.
OLD_NAMES = {"Offsets": "ListOffsets", "GroupCoordinator": "FindCoordinator"}

# Bodies whose grammar says that something is never null that Kafka declares nullable. The bytes are the same.
RECORDS_NULL = {
    GUIDE: {f"Produce Request v{version}" for version in range(3)}
    | {f"Fetch Response v{version}" for version in range(4)},
    MESSAGES: {f"Produce Request v{version}" for version in range(6)}
    | {f"Fetch Response v{version}" for version in range(7)},
}
# The value of a topic's configuration; document 003 has it as Kafka has.
STRING_NULL = {GUIDE: {"CreateTopics Request v0"}, MESSAGES: set[str]()}
# An array of arrays of int32, where Kafka has a nullable array of structs that hold one: the same bytes.
NESTED_ARRAY = {GUIDE: [], MESSAGES: ["CreatePartitions Request v0"]}

COUNTS = {GUIDE: (70, 21), MESSAGES: (162, 38)}


@pytest.fixture(params=[GUIDE, MESSAGES])
def document(request: pytest.FixtureRequest, reference: Path) -> tuple[str, str]:
    return request.param, (reference / "spec" / request.param).read_text()


def find(body: Body) -> Message:
    api = protocol_messages.api_by_name(OLD_NAMES.get(body.api, body.api))
    assert api is not None, body
    return api.request if body.kind == "Request" else api.response


def test_grammars_are_ours(document: tuple[str, str]) -> None:
    name, text = document
    bodies = read_bodies(text)
    assert (len(bodies), len({body.api for body in bodies})) == COUNTS[name]
    different = {}
    for body in bodies:
        ours = layout(find(body), body.version)
        if signature(ours, False, nullable=True) != body.signature:
            different[str(body)] = reason(ours, body)
    assert different == dict.fromkeys(RECORDS_NULL[name], "records") | dict.fromkeys(
        STRING_NULL[name], "string"
    )


def reason(ours: Layout, body: Body) -> str:
    """Return the type that, taken as never null, makes our layout the document's; '' if there is none."""
    for type_ in ("records", "string"):
        if signature(never_null(ours, type_), False, nullable=True) == body.signature:
            return type_
    return ""


def never_null(layout_: Layout, type_: str) -> Layout:
    return tuple(
        Entry(
            **{
                **e._asdict(),
                "nullable": e.nullable and e.type != type_,
                "fields": never_null(e.fields, type_),
            }
        )
        for e in layout_
    )


def test_only_one_grammar_writes_an_array_of_arrays(document: tuple[str, str]) -> None:
    name, text = document
    nested = [str(b) for b in read_bodies(text) if re.search(r"\('\[\]', \(\('\[\]'", repr(b.signature))]
    written = [body for body in nested if body == "CreatePartitions Request v0"]
    assert written == NESTED_ARRAY[name]
    assert len(re.findall(r"=> ARRAY\(", text)) == len(NESTED_ARRAY[name])


def test_versions_and_keys_of_the_grammars_are_known(document: tuple[str, str]) -> None:
    _, text = document
    for name, key in re.findall(r"^(\w+) API \(Key: (\d+)\):", text, re.MULTILINE):
        assert protocol_messages.api_name(int(key)) == OLD_NAMES.get(name, name)


def test_only_controlled_shutdown_is_incomplete(document: tuple[str, str]) -> None:
    """Both begin each API at version 0, but 000 leaves out ControlledShutdown v0 and its header."""
    name, text = document
    bodies = read_bodies(text)
    first = {api: min(b.version for b in bodies if b.api == api) for api in {b.api for b in bodies}}
    late = {api for api, version in first.items() if version > 0}
    assert late == ({"ControlledShutdown"} if name == GUIDE else set())


# Error codes

RENAMED = {
    "UNKNOWN": "UNKNOWN_SERVER_ERROR",
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
}
RETRIABLE_SINCE = {"REPLICA_NOT_AVAILABLE"}


def test_error_codes_of_the_guide(reference: Path) -> None:
    text = (reference / "spec" / GUIDE).read_text()
    rows = re.findall(r"^([A-Z_]+?)(-?\d+)(True|False)", text, re.MULTILINE)
    assert len(rows) == 45
    renamed, retriable = {}, set()
    for name, code, is_retriable in rows:
        found = errors.error(int(code))
        assert found is not None
        assert found is errors.error_by_name(name)
        if found.name != name:
            renamed[name] = found.name
        if found.retriable != (is_retriable == "True"):
            retriable.add(found.name)
    assert renamed == RENAMED
    assert retriable == RETRIABLE_SINCE


# Document 004

FLEXIBLE_WRONG = {"ListGroups": (4, 3)}  # document, shipped
NEVER_EXISTED = {"LeaveGroup": (6, 5)}
OUTDATED = {
    "Produce": (11, 13),
    "Fetch": (16, 18),
    "ListOffsets": (8, 11),
    "Metadata": (12, 13),
    "OffsetCommit": (9, 10),
    "OffsetFetch": (9, 10),
    "FindCoordinator": (5, 6),
    "DescribeGroups": (5, 6),
    "ApiVersions": (3, 5),
}


def test_table_of_flexible_versions(reference: Path) -> None:
    rows = re.findall(
        r"^\| (\w+) \| (\d+) \| (\d+) \|$", (reference / "spec" / FRAMING).read_text(), re.MULTILINE
    )
    assert len(rows) == 16
    flexible, versions = {}, {}
    for name, first, last in rows:
        api = protocol_messages.api_by_name(name)
        assert api is not None
        if api.request.flexible.first != int(first):
            flexible[name] = (int(first), api.request.flexible.first)
        if api.versions.last != int(last):
            versions[name] = (int(last), api.versions.last)
    assert flexible == FLEXIBLE_WRONG
    assert versions == OUTDATED | NEVER_EXISTED


def test_the_exception_that_document_004_leaves_out() -> None:
    api = protocol_messages.api_by_name("ApiVersions")
    assert api is not None
    assert api.response.is_flexible(3)
    assert response_header_version(api.response, 3) == 0


def test_sizes_of_the_samples(reference: Path) -> None:
    """Two of the three hex dumps of document 004 say a size that is not theirs (the third has no size)."""
    text = (reference / "spec" / FRAMING).read_text()
    samples = []
    for dump in re.findall(r"Hex dump:\n(.*?)(?=\n[A-Z][a-z])", text, re.DOTALL):
        lines = [line.partition("//")[0].split() for line in dump.splitlines()]
        words = [word for line in lines for word in line if re.fullmatch(r"[0-9A-FX]{2}", word)]
        if "XX" not in words:
            samples.append((int("".join(words[:4]), 16), len(words) - 4))
    assert samples == [(17, 18), (6, 12)]


def test_null_topics_of_the_sample_came_later() -> None:
    metadata = protocol_messages.request_message(3)
    assert metadata is not None
    (topics,) = (field for field in metadata.root.fields if field.name == "topics")
    assert 0 not in topics.nullable
    assert 1 in topics.nullable


# Document 002


def test_kip_35_never_shipped_as_written() -> None:
    api = protocol_messages.api_by_name("ApiVersions")
    assert api is not None
    assert layout(api.request, 0) == ()  # no ApiKeys
    assert [entry.name for entry in layout(api.response, 0)] == ["ErrorCode", "ApiKeys"]


def test_readers_are_told() -> None:
    text = DISAGREEMENTS.read_text(encoding="utf-8")
    told = [*OLD_NAMES, *RENAMED, *RETRIABLE_SINCE, *FLEXIBLE_WRONG, *NEVER_EXISTED, *OUTDATED]
    told += ["CreatePartitions", "CreateTopics", "ControlledShutdown", "ApiKeys", "62 of 70", "148 of 162"]
    assert [name for name in told if name not in text] == []
