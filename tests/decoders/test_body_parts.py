"""Bodies that end before they should: what there is of them, and no more."""

from types import MappingProxyType
from typing import Any

import pytest

from kdissect.decoders.bodies import summarize_response
from kdissect.decoders.body_parts import body_part, part_jsonable
from kdissect.decoders.encoder import encode_response
from kdissect.decoders.frames import dissect_response
from kdissect.decoders.generated.projection import collected, projector
from kdissect.decoders.trees.tree_decoder import decode_part, dissect, locate
from kdissect.decoders.trees.tree_text import render
from kdissect.schema import protocol_messages
from kdissect.schema.secrets import MASK
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.records import records_fields_of

METADATA, DESCRIBE_CONFIGS, FETCH = 3, 32, 1
VERSION = 12
TOPICS = [
    {"name": f"topic-{i}", "partitions": [{"partition_index": i, "replica_nodes": [1, 2]}]} for i in range(5)
]
WHOLE = encode_response(METADATA, VERSION, 1, {"throttle_time_ms": 7, "topics": TOPICS})[9:]
NO_FACTS = MappingProxyType({})


def part(data: bytes, key: int = METADATA, version: int = VERSION) -> tuple[dict[str, Any], str]:
    found = body_part(data, 0, key, version, True, NO_FACTS)
    assert found is not None
    return part_jsonable(found, key, False, NO_FACTS), found.stop


def test_elements_before_the_cut_are_told_though_not_all_fit() -> None:
    cut = WHOLE[: WHOLE.index(b"topic-2") + 3]
    body, stop = part(cut)
    assert stop == "MetadataResponse.topics[2].name"
    assert body["throttle_time_ms"] == 7
    assert [topic.get("name") for topic in body["topics"]] == ["topic-0", "topic-1", None]
    assert body["topics"][2] == {"error_code": 0}


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_every_cut_tells_a_beginning(end: int) -> None:
    whole, _ = part(WHOLE)
    body, stop = part(WHOLE[:end])
    assert bool(stop) == (end < len(WHOLE))
    assert is_beginning(body, whole)
    assert bool(body) == (end >= 4)


def is_beginning(value: Any, of: Any) -> bool:
    if isinstance(value, dict):
        return all(name in of and is_beginning(item, of[name]) for name, item in value.items())
    if isinstance(value, list):
        return len(value) <= len(of) and all(map(is_beginning, value, of))
    return bool(value == of)


def test_an_absurd_count_makes_no_more_elements_than_there_are() -> None:
    data = bytes(4) + b"\xff\xff\xff\xff\x0f" + WHOLE[WHOLE.index(b"\x08topic-0") :]
    message = protocol_messages.response_message(METADATA)
    assert message is not None
    found = decode_part(message, VERSION, data)
    assert len(found.value.brokers) <= len(data)
    error = locate(message, VERSION, data)
    assert error is not None
    assert error.why.startswith("4294967294 elements do not fit the")
    assert dissect(message, VERSION, data, enter=True).error is not None
    assert str(dissect(message, VERSION, data, enter=True).error) == str(error)
    assert not summarize_response(data, 0, METADATA, VERSION).fits


def test_the_tree_shows_the_count_on_the_wire() -> None:
    frame = bytes(5) + WHOLE[: WHOLE.index(b"topic-2") + 3]
    text = list(render(dissect_response(frame, METADATA, VERSION), frame))
    assert any(line.endswith("topics: []MetadataResponseTopic = 5 elements") for line in text)
    assert sum(": MetadataResponseTopic" in line for line in text) == 3
    assert any('name: compact string = "topic-1"' in line for line in text)
    assert any("! 5 elements do not fit the" in line for line in text)


def test_the_summary_and_the_projection_go_as_far() -> None:
    cut = WHOLE[: WHOLE.index(b"topic-2") + 3]
    assert summarize_response(cut, 0, METADATA, VERSION).topics == ("topic-0", "topic-1")
    message = protocol_messages.response_message(METADATA)
    assert message is not None
    wanted = {
        ("topics",): (0,),
        ("topics", "name"): (1,),
        ("topics", "partitions", "replica_nodes"): (2,),
        ("cluster_id",): (3,),
    }
    found = collected(decode_part(message, VERSION, cut).value, wanted, 4)
    assert found == ([True, True, True], ["topic-0", "topic-1"], [1, 2, 1, 2], [None])
    told = projector(message, VERSION, wanted, 4)(WHOLE, 0)
    assert told is not None
    assert list(map(list, told)) == list(collected(decode_part(message, VERSION, WHOLE).value, wanted, 4))


def test_near_secrets_arrays_that_do_not_fit_stay_closed_and_all_is_masked() -> None:
    configs = [{"name": "retention.ms", "value": "86400000"}] * 30
    results = [{"resource_name": "topic", "resource_type": 2, "configs": configs}]
    data = encode_response(DESCRIBE_CONFIGS, 4, 1, {"throttle_time_ms": 100_000, "results": results})[9:]
    body, _ = part(data[:100], DESCRIBE_CONFIGS, 4)
    assert body["throttle_time_ms"] == MASK
    assert body["results"][0]["resource_name"] == MASK
    assert body["results"][0]["configs"] == []


def test_batches_before_the_cut_are_found_in_every_partition() -> None:
    records = batch_bytes(record_bytes(key=b"k", value=b"v"))
    partitions = [{"partition_index": i, "records": records} for i in range(4)]
    data = encode_response(FETCH, 11, 1, {"responses": [{"topic": "t", "partitions": partitions}]})[8:]
    cut = data[: data.index(records, data.index(records) + 2 * len(records)) + 40]
    found = records_fields_of(cut, 0, FETCH, 11, True)
    assert [records_field.partition for records_field in found] == [0, 1, 2]
    body, stop = part(cut, FETCH, 11)
    sizes = [each["records"]["bytes"] for each in body["responses"][0]["partitions"] if "records" in each]
    assert sizes == [len(records)] * 3
    assert stop.startswith("FetchResponse.responses[0].partitions[2].records")
