"""Every case the schema cannot say, one function each, with its source.

No other decoder compares API keys or versions. `schema.protocol_messages` knows which header version precedes
a body, and that client_id is never compact, because the grammar needs it, too.
"""

from kdissect.schema.protocol_messages import API_VERSIONS, CONTROLLED_SHUTDOWN
from kdissect.schema.types import Message, MessageKind

PRODUCE = 0  # org.apache.kafka.common.protocol.ApiKeys
SASL_HANDSHAKE = 17

UNSUPPORTED_VERSION = 35  # org.apache.kafka.common.protocol.Errors
_API_VERSIONS_HEAD = 6  # error_code int16, count int32 (spec/003 "ApiVersions Response (Version: 0)")
_API_VERSIONS_ENTRY = 6  # api_key, min_version, max_version: int16 each (same place)
_EMPTY_ARRAY = bytes(4)


def has_no_client_id(api_key: int, api_version: int) -> bool:
    """Return whether a request has header version 0, which ends behind the correlation id.

    Only ControlledShutdown version 0 (spec/004 "Request Header Versions"; ApiKeys#requestHeaderVersion of
    Kafka 3.9).
    """
    return api_key == CONTROLLED_SHUTDOWN and api_version == 0


def has_plain_response_header(api_key: int) -> bool:
    """Return whether the response header has no tag section even in flexible versions.

    Only ApiVersions: a client that does not know the broker yet must be able to read the answer (KIP-511).
    """
    return api_key == API_VERSIONS


def may_answer_in_other_version(api_key: int) -> bool:
    """Return whether `response_body_version` can differ from the request's: only for ApiVersions."""
    return api_key == API_VERSIONS


def foreign_start(api_key: int, is_response: bool) -> bytes:
    """Return the bytes that begin a body whose version depends on its bytes; empty if no such body exists."""
    return UNSUPPORTED_START if is_response and may_answer_in_other_version(api_key) else b""


UNSUPPORTED_START = UNSUPPORTED_VERSION.to_bytes(2)
"""The first fields of a response body that may have another version than the request."""


def response_body_version(api_key: int, api_version: int, data: bytes, offset: int) -> int:
    """Return the version a response body is written in: that of the request, but for a refused ApiVersions
    request.

    A broker that does not know the ApiVersions version asked for answers in version 0 with error 35
    (KIP-511). A body with error 35 counts as version 0 only when its length fits that layout: nothing
    forbids a broker to answer in the version asked for.
    """
    if api_version == 0 or not may_answer_in_other_version(api_key):
        return api_version
    if data[offset : offset + 2] != UNSUPPORTED_START:
        return api_version
    count = int.from_bytes(data[offset + 2 : offset + _API_VERSIONS_HEAD], signed=True)
    end = offset + _API_VERSIONS_HEAD + count * _API_VERSIONS_ENTRY
    return 0 if end == len(data) else api_version


def is_ignorable_tail(api_key: int, api_version: int, data: bytes, end: int) -> bool:
    """Return whether the bytes after a request body are a known habit of clients, which brokers ignore.

    librdkafka before KIP-511 sent the ApiKeys array of KIP-35 (spec/002), which never shipped, empty: 4
    zero bytes. Versions 0 to 2 have no body (KIP-511 brought one with version 3).
    """
    return api_key == API_VERSIONS and api_version <= 2 and data[end:] == _EMPTY_ARRAY


def raw_tokens_follow(api_key: int, api_version: int) -> bool:
    """Return whether the frames after a successful response are bare SASL tokens: size and token, without a
    header.

    True of SaslHandshake version 0 (KIP-43). From version 1 on tokens travel in SaslAuthenticate (KIP-152).
    """
    return api_key == SASL_HANDSHAKE and api_version == 0


def expects_response(api_key: int, acks: int | None) -> bool:
    """Return whether the broker answers a request: not where Produce has acks 0 (spec/004 "acks=0 Produce
    Requests").
    """
    return not (api_key == PRODUCE and acks == 0)


def has_acks(message: Message) -> bool:
    """Return whether the field `acks` of a message decides about a response."""
    return message.api_key == PRODUCE and message.kind is MessageKind.REQUEST


def is_null_marker(marker: int) -> bool:
    """Return whether the signed byte before an untagged nullable struct says null: it is below 0.

    That holds in flexible versions too. A tagged struct has an unsigned varint instead, 0 for null. Any other
    number stands for a struct (Apache Kafka, generated `read` of StreamsGroupHeartbeatRequestData).
    """
    return marker < 0
