"""Oracle, when the reference material is there: bytes that other projects' tests state."""

import json
from pathlib import Path
from typing import Any

import pytest

from kdissect.decoders import quirks
from kdissect.decoders.as_json.jsonable import to_jsonable
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.cursor import skip_tags
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.summary import summarizer
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError

NULL_RESULTS = "writes null for an empty array that Kafka does not allow to be null"
# Vectors that Apache Kafka would not read either, by (source, name) without its line number, with the reason.
KNOWN = {
    ("sarama", "TestAlterConfigsRequest singleAlterConfigsRequestV2"): "leaves out the last tag section",
    ("sarama", "TestDescribeLogDirsResponseV2 describeLogDirsResponseEmptyV2"): NULL_RESULTS,
    ("sarama", "TestDescribeLogDirsResponseV4 describeLogDirsResponseEmptyV4"): NULL_RESULTS,
    ("sarama", "TestOffsetFetchRequestAllPartitions offsetFetchRequestAllPartitions"): (
        "labelled version 0, in which null topics did not exist yet (version 2)"
    ),
}
COUNTS = {"sarama": 417, "kafka_python": 80, "pixie": 26}


def vectors(reference: Path, source: str) -> list[dict[str, Any]]:
    path = reference / "vectors" / f"{source}.jsonl"
    if not path.is_file():
        pytest.skip("no vectors in the reference material")
    return [json.loads(line) for line in path.read_text().splitlines()]


def decode(vector: dict[str, Any]) -> None:
    """Decode to the last byte, or raise DecodeError."""
    data = bytes.fromhex(vector["hex"])
    key, version = vector["api_key"], vector["api_version"]
    if vector["framing"] == "frame" and vector["kind"] == "request":
        header = decode_request(data).header
        assert (header.api_key, header.api_version) == (key, version)
    elif vector["framing"] == "frame":
        decode_response(data, key, version)
    else:
        # A body, in one vector behind the tags of the header.
        offset = 0 if vector["framing"] == "body" else skip_tags(data, 0)
        decode_body(data, offset, key, version, vector["kind"] == "response")


def decode_body(data: bytes, offset: int, key: int, version: int, is_response: bool) -> None:
    if is_response:
        version = quirks.response_body_version(key, version, data, offset)
    message = body_message(key, version, is_response)
    value, end = decoder(message, version)(data, offset)
    if end != len(data):
        raise DecodeError(message.name, end, "bytes left over")
    assert dissect(message, version, data, offset).value == value
    to_jsonable(value)
    assert summarizer(message, version)(data, offset).fits


@pytest.mark.parametrize("source", COUNTS)
def test_every_vector_is_decoded_or_known_to_be_wrong(reference: Path, source: str) -> None:
    refused = set()
    found = vectors(reference, source)
    assert len(found) == COUNTS[source]
    for vector in found:
        try:
            decode(vector)
        except DecodeError:
            refused.add((source, vector["name"].partition(" ")[2]))
    assert refused == {known for known in KNOWN if known[0] == source}
