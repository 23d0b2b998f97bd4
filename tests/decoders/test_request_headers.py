"""Headers of both directions, whole, cut and wrong."""

import struct

import pytest

from kdissect.decoders.headers import (
    parse_correlation_id,
    parse_request_header,
    request_header_version,
    response_body_offset,
    response_header_version,
)
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.model.frame import RequestHeader
from kdissect.schema import protocol_messages
from kdissect.schema.protocol_messages import request_header_version as version_in_schema
from kdissect.schema.protocol_messages import response_header_version as response_version_in_schema


def header(key: int, version: int, client_id: bytes | None = b"me", tags: bytes = b"") -> bytes:
    head = struct.pack(">hhi", key, version, 77)
    if client_id is None:
        return head + b"\xff\xff" + tags
    return head + struct.pack(">h", len(client_id)) + client_id + tags


def test_header_versions_are_those_of_the_schema() -> None:
    for api in protocol_messages.all_apis():
        for version in range(api.versions.first, api.versions.last + 1):
            assert request_header_version(api.key, version) == version_in_schema(api.request, version)
            assert response_header_version(api.key, version) == response_version_in_schema(
                api.response, version
            )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (header(3, 0), RequestHeader(3, 0, 77, "me", 12)),
        (header(3, 0, None), RequestHeader(3, 0, 77, None, 10)),
        (header(3, 0, b""), RequestHeader(3, 0, 77, "", 10)),
        (header(3, 9, b"me", b"\0"), RequestHeader(3, 9, 77, "me", 13)),  # flexible, but for client_id
        (header(3, 9, b"me", b"\1\5\3abc"), RequestHeader(3, 9, 77, "me", 18)),
        (header(18, 3, b"me", b"\0"), RequestHeader(18, 3, 77, "me", 13)),
        (header(3, 0, b"m\xff"), RequestHeader(3, 0, 77, "m\\xff", 12)),
        (header(3, 99, b"me", b"\0"), RequestHeader(3, 99, 77, "me", 13)),  # newer than the schema
        (header(10000, 0), RequestHeader(10000, 0, 77, "me", 12)),  # an API nobody has
        (struct.pack(">hhii", 7, 0, 77, 1), RequestHeader(7, 0, 77, None, 8)),  # ControlledShutdown 0
        (struct.pack(">hhi", 7, 0, 77), RequestHeader(7, 0, 77, None, 8)),
    ],
)  # fmt: skip
def test_request_headers(data: bytes, expected: RequestHeader) -> None:
    assert parse_request_header(data) == expected
    assert parse_request_header(b"size" + data, 4) == expected._replace(body_offset=expected.body_offset + 4)
    assert parse_request_header(data, cut=True) == expected


def test_every_cut_header_is_an_error_or_known_to_be_cut() -> None:
    data = header(3, 9, b"client", b"\1\5\3abc")
    for cut in range(len(data)):
        with pytest.raises(DecodeError) as caught:
            parse_request_header(data[:cut])
        assert caught.value.path.startswith("RequestHeader")
        if cut >= 8:
            found = parse_request_header(data[:cut], cut=True)
            assert found[:3] == (3, 9, 77)
            assert found.client_id == ("client" if cut >= 16 else None)
            assert found.body_offset >= cut
        else:
            with pytest.raises(DecodeError):
                parse_request_header(data[:cut], cut=True)


def test_the_error_says_what_is_wrong() -> None:
    with pytest.raises(DecodeError, match=r"RequestHeader\.client_id: length -2 is negative at byte 8"):
        parse_request_header(struct.pack(">hhih", 3, 0, 1, -2))


@pytest.mark.parametrize(
    ("data", "key", "version", "offset"),
    [
        (bytes(4), 3, 8, 4),
        (bytes(5), 3, 9, 5),
        (bytes(4) + b"\1\0\2ab", 3, 9, 9),
        (bytes(6), 18, 3, 4),  # ApiVersions answers with header 0 (KIP-511)
        (bytes(4), 10000, 3, 4),
    ],
)
def test_response_bodies(data: bytes, key: int, version: int, offset: int) -> None:
    assert response_body_offset(data, key, version) == offset
    assert response_body_offset(b"size" + data, key, version, 4) == offset + 4


@pytest.mark.parametrize(
    ("data", "version"), [(b"", 8), (bytes(3), 8), (bytes(4), 9), (bytes(4) + b"\1\0\2a", 9)]
)
def test_response_headers_that_are_cut(data: bytes, version: int) -> None:
    with pytest.raises(DecodeError, match="ResponseHeader"):
        response_body_offset(data, 3, version)


def test_correlation_ids_are_signed() -> None:
    assert parse_correlation_id(b"\xff\xff\xff\xff") == -1
    with pytest.raises(DecodeError):
        parse_correlation_id(b"\xff\xff\xff")


def test_the_tree_of_a_header_agrees() -> None:
    data = header(3, 9, b"me", b"\1\5\3abc")
    tree = dissect(protocol_messages.header_message("RequestHeader"), 2, data)
    assert tree.error is None
    assert (tree.end, tree.value.client_id, tree.value._tags) == (len(data), "me", {5: b"abc"})
