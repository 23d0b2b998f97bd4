"""The grammar as people read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdissect.schema import grammar, protocol_messages
from kdissect.schema.schema_parser import parse_schema
from tests.schema.protocol_grammar import read_bodies
from tests.schema.schema_layout import layout, signature, versions_of

FETCH_4 = """\
Fetch Request (Version: 4) => replica_id max_wait_ms min_bytes max_bytes isolation_level [topics]
  replica_id => INT32
  max_wait_ms => INT32
  min_bytes => INT32
  max_bytes => INT32
  isolation_level => INT8
  topics => topic [partitions]
    topic => STRING
    partitions => partition fetch_offset partition_max_bytes
      partition => INT32
      fetch_offset => INT64
      partition_max_bytes => INT32"""

HEADER_2 = """\
RequestHeader (Version: 2) => request_api_key request_api_version correlation_id client_id _tagged_fields
  request_api_key => INT16
  request_api_version => INT16
  correlation_id => INT32
  client_id => NULLABLE_STRING
  _tagged_fields => TAG_BUFFER"""

DESCRIBE_0 = """\
DescribeTopicPartitions Request (Version: 0) => [topics] response_partition_limit cursor? _tagged_fields
  topics => name _tagged_fields
    name => COMPACT_STRING
    _tagged_fields => TAG_BUFFER
  response_partition_limit => INT32
  cursor => topic_name partition_index _tagged_fields
    topic_name => COMPACT_STRING
    partition_index => INT32
    _tagged_fields => TAG_BUFFER
  _tagged_fields => TAG_BUFFER"""


def test_a_plain_version() -> None:
    assert grammar.grammar(protocol_messages.payload("TopicRecord"), 0).startswith(
        "TopicRecord (Version: 0) => name"
    )
    request = protocol_messages.request_message(1)
    assert request is not None
    assert grammar.grammar(request, 4) == FETCH_4


def test_a_flexible_version() -> None:
    request = protocol_messages.request_message(75)
    assert request is not None
    assert grammar.grammar(request, 0) == DESCRIBE_0


def test_the_client_id_is_never_compact() -> None:
    assert grammar.grammar(protocol_messages.header_message("RequestHeader"), 2) == HEADER_2


def test_tagged_fields_stand_below_their_buffer() -> None:
    request = protocol_messages.request_message(1)
    assert request is not None
    lines = grammar.grammar(request, 12).splitlines()
    assert lines[-2:] == [
        "  _tagged_fields => TAG_BUFFER",
        "    cluster_id<tag: 0> => COMPACT_NULLABLE_STRING",
    ]


def test_an_empty_body() -> None:
    request = protocol_messages.request_message(16)
    assert request is not None
    assert grammar.grammar(request, 0) == "ListGroups Request (Version: 0) =>"


def test_a_struct_within_itself_is_named() -> None:
    text = "payload Tree  versions 0  flexible none\n  Root: Node  0\nstruct Node\n  Next: []Node  0\n"
    (tree,) = parse_schema(text, "tree")
    assert grammar.grammar(tree, 0).splitlines()[-1] == "    next => Node"


def test_a_version_that_never_was() -> None:
    request = protocol_messages.request_message(1)
    assert request is not None
    with pytest.raises(ValueError, match="FetchRequest has versions 0-18, not 19"):
        grammar.grammar(request, 19)


def test_every_plain_body_reads_back() -> None:
    """Our grammars are read by the reader of Kafka's own: the notation is the guide's."""
    for api in protocol_messages.all_apis():
        for message in (api.request, api.response):
            for version in versions_of(message):
                text = grammar.grammar(message, version)
                if message.is_flexible(version):
                    continue
                (body,) = read_bodies(text.replace("?", "") + "\n")
                assert body.signature == signature(layout(message, version), False, nullable=True)


def test_overview() -> None:
    lines = grammar.overview().splitlines()
    assert len(lines) == 1 + len(protocol_messages.all_apis())
    assert lines[0].split() == ["KEY", "API", "VERSIONS", "FLEXIBLE", "SINCE", "GONE"]
    assert lines[2].split() == ["1", "Fetch", "0-18", "12+", "0.8.0", "0-3", "in", "4.0"]


def test_api_overview() -> None:
    api = protocol_messages.api(7)
    assert api is not None
    text = grammar.api_overview(api)
    assert text.startswith("ControlledShutdown (API key 7)\n")
    assert "0        0.8.0   v0              v0               gone in 4.0" in text
    assert "request ControlledShutdownRequest" in text
    share = protocol_messages.api(78)
    assert share is not None
    assert "unstable, gone in 4.1" in grammar.api_overview(share)
    listing = protocol_messages.api(74)
    assert listing is not None
    assert "formerly ListClientMetricsResources" in grammar.api_overview(listing)


def test_the_docs_show_what_is_printed() -> None:
    assert FETCH_4.splitlines()[0] in (Path(__file__).parents[2] / "docs" / "schema.md").read_text(
        encoding="utf-8"
    )
