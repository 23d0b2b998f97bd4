"""Oracle (a): every message and version equals the reference definitions, where those are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.schema import enums, protocol_messages, releases
from kdissect.schema import error_codes as errors
from kdissect.schema.protocol_messages import request_header_version, response_header_version
from kdissect.schema.types import Array, Field, Message, Struct
from tests.schema.schema_layout import differences, json_layout, layout, versions_of

# Entities that the reference does not name: a topic's id is known by its field's name alone, and Apache left
# some topic names unmarked.
OUR_ENTITIES = {"topicId", "topicName"}
# Formats that Apache writes by hand, without a definition in its message language, or that are not Apache's.
OWN_PAYLOADS = {
    "AssignmentInfo", "ConnectProtocolAssignment", "ConnectProtocolMetadata",
    "CooperativeStickyAssignorUserData", "StickyAssignorUserData", "SaslGssapi", "SaslOauthbearer",
    "SaslPlain", "SaslScramClientFinal", "SaslScramClientFirst", "SaslScramServerFinal",
    "SaslScramServerFirst",
}  # fmt: skip
OWN_ENUMERATIONS = {"connectAssignmentError", "kerberosTokenId"}  # of these formats


@pytest.fixture(scope="module")
def documents(reference: Path) -> dict[str, dict[str, Any]]:
    paths = sorted((reference / "protocol" / "messages").glob("*.json"))
    return {path.stem: json.loads(path.read_text()) for path in paths}


def find(document: dict[str, Any]) -> Message:
    name, kind = document["name"], document["type"]
    if kind == "request":
        found = protocol_messages.request_message(document["apiKey"])
    elif kind == "response":
        found = protocol_messages.response_message(document["apiKey"])
    else:
        found = (
            protocol_messages.header_message(name) if kind == "header" else protocol_messages.payload(name)
        )
    assert found is not None
    return found


def test_every_message_and_version_is_the_reference(documents: dict[str, dict[str, Any]]) -> None:
    problems, bodies = [], set()
    for name, document in documents.items():
        message = find(document)
        assert message.name == name
        for version in versions_of(message):
            if message.api_key is not None:
                bodies.add((message.name, version))
            found = differences(layout(message, version), json_layout(document, version))
            problems += [f"{name} v{version}{difference}" for difference in found]
    assert problems == []
    apis = protocol_messages.all_apis()
    ours = [message for api in apis for message in (api.request, api.response)]
    assert bodies == {(message.name, version) for message in ours for version in versions_of(message)}


def test_nothing_is_in_our_schema_alone(documents: dict[str, dict[str, Any]]) -> None:
    ours = {message.name for api in protocol_messages.all_apis() for message in (api.request, api.response)}
    ours |= {message.name for message in protocol_messages.all_payloads()} | {
        "RequestHeader",
        "ResponseHeader",
    }
    assert ours == set(documents) | OWN_PAYLOADS


def test_versions_and_record_types_are_the_reference(documents: dict[str, dict[str, Any]]) -> None:
    for name, document in documents.items():
        message = find(document)
        assert str(message.versions) == document["validVersions"], name
        assert str(message.flexible) == document["flexibleVersions"], name
        number = message.record_type if message.api_key is None else message.api_key
        assert number == document.get("apiKey"), name


def test_entities_are_the_reference(documents: dict[str, dict[str, Any]]) -> None:
    for document in documents.values():
        message = find(document)
        structs = {struct["name"]: struct["fields"] for struct in document.get("commonStructs", [])}
        compare_entities(message.root, document["fields"], structs)


def compare_entities(struct: Struct, fields: list[dict[str, Any]], structs: dict[str, Any]) -> None:
    for ours, theirs in zip(struct.fields, fields, strict=True):
        written = theirs.get("entityType")
        assert ours.entity == written or (written is None and ours.entity in OUR_ENTITIES), ours
        element = ours.type.element if isinstance(ours.type, Array) else ours.type
        if isinstance(element, Struct):
            compare_entities(element, theirs.get("fields") or structs[element.name], structs)


def test_headers_are_those_of_the_api_table(reference: Path) -> None:
    for row in json.loads((reference / "protocol" / "api-table.json").read_text()):
        api = protocol_messages.api(row["apiKey"])
        assert api is not None
        for version in versions_of(api.request):
            flexible = row["firstFlexible"] is not None and version >= row["firstFlexible"]
            expected = 0 if row["apiKey"] == 7 and version == 0 else 2 if flexible else 1
            assert request_header_version(api.request, version) == expected
            assert response_header_version(api.response, version) == (flexible and row["apiKey"] != 18)


def test_releases_are_those_of_the_api_table(reference: Path) -> None:
    for row in json.loads((reference / "protocol" / "api-table.json").read_text()):
        history = releases.history(row["apiKey"])
        assert history is not None
        since = {int(version): release.removesuffix("-rc3") for version, release in row["since"].items()}
        if row["name"] == "ControlledShutdown":
            since[0] = "0.8.0"  # the reference has the release that first advertised it
        assert history.since == since
        assert [version for version in since if version in history.gone] == row["removed"]
        assert [version for version in since if version in history.unstable] == row["unstableOnly"]
        assert history.former_name == (row["formerName"] or "")


def test_error_codes_are_the_reference(reference: Path) -> None:
    rows = json.loads((reference / "protocol" / "errors.json").read_text())
    assert len(rows) == len(errors.all_errors())
    for row in rows:
        found = errors.error(row["code"])
        assert found is not None
        assert (found.name, found.retriable) == (row["name"], row["retriable"])
        assert list(found.former_names) == row.get("formerNames", [])


# Those of the reference that are no list of values: their form in the table is our own.
OWN_FORM = {
    "batchAttributesBits", "legacyAttributesBits", "recordAttributesBits", "reservedUuids", "fetchSession",
    "shareSession", "recordConstants", "offsetSpecials", "transactionResult", "consumerProtocolTypes",
}  # fmt: skip


def test_enumerations_are_the_reference(reference: Path) -> None:
    rows = json.loads((reference / "protocol" / "enums.json").read_text())
    assert set(rows) == {enumeration.name for enumeration in enums.all_enumerations()} - OWN_ENUMERATIONS
    assert len(rows) == 50
    for name in set(rows) - OWN_FORM:
        enumeration = enums.enumeration(name)
        assert enumeration is not None
        values = rows[name]["values"]
        if isinstance(values, list):
            assert list(enumeration.values) == values
            continue
        assert {str(value) for value in enumeration.values} == set(values)
        for value, label in enumeration.values.items():
            assert values[str(value)].startswith((label, "(schema default")), (name, label)


def test_every_error_field_is_marked(documents: dict[str, dict[str, Any]]) -> None:
    for document in documents.values():
        for field in every_field(find(document).root):
            wanted = field.type == "int16" and field.official_name.endswith("ErrorCode")
            assert field.is_error == wanted, (document["name"], field)


def every_field(struct: Struct) -> list[Field]:
    found = []
    for field in struct.fields:
        found.append(field)
        element = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(element, Struct):
            found += every_field(element)
    return found
