"""Recognises the protocol of a connection from its bytes, on any port.

Rules:
- A direction whose bytes begin with a plausible request header may be the client's. `candidate` defines its
  proof.
- A first byte that no Kafka size can have, or a known signature, makes a connection opaque with a name.
- While bytes are missing the answer is MORE. The way in which TCP cut the stream has no effect, except in the
  middle of a connection, where a segment's first byte is the best guess for a frame's first byte.
"""

import struct
from enum import IntEnum

from kdissect.decoders import quirks
from kdissect.decoders.bodies import request_fits
from kdissect.decoders.headers import parse_request_header
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.session.info import ConnectionKind

# Largest plausible size of a frame. A broker takes 100 MiB (socket.request.max.bytes, spec/004 "Size
# Constraints"). Responses have no limit in the protocol. Below 256 MiB, the first byte of printable text or a
# TLS record can never be the start of a size.
MAX_FRAME_SIZE = (1 << 28) - 1
MIN_REQUEST_SIZE = (
    8  # header v0: api_key, api_version, correlation_id (RequestHeader v0, ControlledShutdown v0)
)
MIN_RESPONSE_SIZE = 4  # correlation_id (spec/004 "Size Constraints")
MAX_CLIENT_ID = 1024  # no limit in the protocol, but when guessing a longer text is no client id
MIN_UNKNOWN_CLIENT_ID = 3  # least client id that vouches for an API or version our schema does not know
# Responses in a row that identify a broker if its client was not captured.
MIN_LONE_RESPONSES = 3
ZOOKEEPER_NEEDS = 32  # bytes of its first request up to the length of the password
FUTURE_VERSIONS = 20  # versions past our schema that still look like Kafka
FUTURE_KEYS = 512  # API keys below this may be Kafka's: 92 is the last so far, and none was ever skipped far
MAX_STEP = 1000  # between the ids of frames in a row: clients count, some for several connections together
PROXY_FIRST_BYTES = b"P\r"  # of a PROXY protocol header (`proxy_header`)
_HEADER = struct.Struct(">ihhih")  # size, api_key, api_version, correlation_id, client_id length
_HEADER_SIZE = _HEADER.size
# The first token of a Kerberos client: tag, length, the mechanism's object identifier (RFC 2743 section 3.1),
# and the id of the token (RFC 4121 section 4.1). Kafka 0.9 sends it without a SaslHandshake.
_TOKEN_TAG = 0x60
_LENGTH_AT = 5  # of the token, after the size of its frame and the tag
_LONG_FORM, _LENGTH_BITS = 0x80, 0x7F  # ITU-T X.690 section 8.1.3
_MAX_LENGTH_BYTES = 4
_KERBEROS_REQUEST = bytes.fromhex("06092a864886f7120102020100")
TOKEN_NEEDS = _LENGTH_AT + 1 + _MAX_LENGTH_BYTES + len(_KERBEROS_REQUEST)
_NO_CLIENT_ID_SIZE = 12  # ControlledShutdownRequest v0: 8 bytes of header and an int32 broker id


class Verdict(IntEnum):
    """Verdict on whether bytes look like something."""

    NO = 0
    YES = 1
    MORE = 2


def request_at(data: bytes, offset: int, cut: bool = False, any_bytes: bool = False) -> Verdict:
    """Return whether a size-prefixed request begins at `offset`.

    `cut`: no byte will follow (a snap length removed the later bytes). `any_bytes`: the client id need not be
    UTF-8.
    """
    left = len(data) - offset
    if left < _HEADER_SIZE:
        return _short_request(data, offset, left, cut)
    size, key, version, _, client_length = _HEADER.unpack_from(data, offset)
    if not MIN_REQUEST_SIZE <= size <= MAX_FRAME_SIZE or key < 0 or version < 0:
        return Verdict.NO
    if size == _NO_CLIENT_ID_SIZE and quirks.has_no_client_id(key, version):
        return Verdict.YES
    api = protocol_messages.api(key)
    last = 0 if api is None else api.versions.last
    if key >= FUTURE_KEYS or version > last + FUTURE_VERSIONS:
        return Verdict.NO
    if client_length <= 0:
        return Verdict(client_length >= -1 and size >= 10)
    if client_length > min(size - 10, MAX_CLIENT_ID):
        return Verdict.NO
    raw = data[offset + _HEADER_SIZE : offset + _HEADER_SIZE + client_length]
    is_text = printable(raw, len(raw) < client_length)
    if not is_text and not (any_bytes and raw.decode("utf-8", "backslashreplace").isprintable()):
        return Verdict.NO
    return Verdict.YES if cut or len(raw) == client_length else Verdict.MORE


def token_at(head: bytes) -> Verdict:
    """Return whether a direction begins with a frame that holds the first GSSAPI token of a Kerberos client.

    `TOKEN_NEEDS` bytes are enough.
    """
    if len(head) < _LENGTH_AT or head[0] > MAX_FRAME_SIZE >> 24 or head[_LENGTH_AT - 1] != _TOKEN_TAG:
        return Verdict.NO
    if len(head) == _LENGTH_AT:
        return Verdict.MORE
    form = head[_LENGTH_AT]
    more = form & _LENGTH_BITS if form & _LONG_FORM else 0
    found = head[_LENGTH_AT + 1 + more :][: len(_KERBEROS_REQUEST)]
    if more > _MAX_LENGTH_BYTES or not _KERBEROS_REQUEST.startswith(found):
        return Verdict.NO
    return Verdict.YES if found == _KERBEROS_REQUEST else Verdict.MORE


def is_certain_request(data: bytes, offset: int) -> bool:
    """Return whether the plausible request at `offset`, of a version the schema has, is one beyond doubt, as
    a guess in the middle of a stream must be.

    A small response can pass for a request header: its correlation id for API key and version. So a whole
    frame must decode to its last byte, and one that goes on after `data` must name a client.
    """
    size, _, _, _, client_length = _HEADER.unpack_from(data, offset)
    if len(data) - offset - 4 < size:
        return bool(client_length > 0)
    return request_decodes(data, offset)


def request_decodes(data: bytes, offset: int) -> bool:
    """Return whether the whole frame at `offset`, a request, decodes to its last byte."""
    size, key, version, _, _ = _HEADER.unpack_from(data, offset)
    frame = data[offset + 4 : offset + 4 + size]
    try:
        body_offset = parse_request_header(frame).body_offset
    except DecodeError:
        return False
    return request_fits(frame, body_offset, key, version)


def _short_request(data: bytes, offset: int, left: int, cut: bool) -> Verdict:
    if left == 0:
        return Verdict.MORE
    if cut or data[offset] > MAX_FRAME_SIZE >> 24:
        return Verdict.NO
    return Verdict.MORE


def printable(raw: bytes, is_cut: bool = False) -> bool:
    """Return whether bytes are UTF-8 text without control characters.

    `is_cut`: the last character may be cut.
    """
    try:
        return raw.decode().isprintable()
    except UnicodeDecodeError as error:
        # Of a character that is cut, only the missing bytes are wrong.
        is_cut_off = is_cut and error.end == len(raw) and error.reason == "unexpected end of data"
        return is_cut_off and raw[: error.start].decode().isprintable()


def is_plausible_request(frame: bytes) -> bool:
    """Return whether a frame's content (no size prefix) begins with a plausible request header of a known
    API.
    """
    sized = len(frame).to_bytes(4) + frame[: MAX_CLIENT_ID + _HEADER_SIZE]
    return (
        request_at(sized, 0, cut=True) is Verdict.YES
        and protocol_messages.api(int.from_bytes(frame[:2])) is not None
    )


def foreign_protocol(data: bytes) -> ConnectionKind | None:
    """Return the protocol of bytes at the start of a direction, if it is one that is known not to be
    Kafka.
    """
    if len(data) >= 3 and 20 <= data[0] <= 24 and data[1] == 3 and data[2] <= 4:
        return ConnectionKind.TLS  # record type, version 3.x: RFC 8446 section 5.1
    if data.startswith(b"SSH-"):
        return ConnectionKind.SSH  # RFC 4253 section 4.2
    if data.startswith(b"PRI * HTTP/2"):
        return ConnectionKind.HTTP2  # RFC 9113 section 3.4
    if data.startswith(
        (b"GET ", b"POST ", b"PUT ", b"HEAD ", b"DELETE ", b"OPTIONS ", b"CONNECT ", b"PATCH ", b"HTTP/1.")
    ):
        return ConnectionKind.HTTP
    if _is_zookeeper_connect(data):
        return ConnectionKind.ZOOKEEPER
    return None


def _is_zookeeper_connect(data: bytes) -> bool:
    # ConnectRequest (org.apache.zookeeper.proto): length 44 or 45, protocolVersion 0, lastZxidSeen, timeOut,
    # sessionId, passwd of 16 bytes. Read as Kafka it would be a Produce v0 with an empty client id.
    return len(data) >= ZOOKEEPER_NEEDS and may_be_zookeeper(data) and data[28:32] == b"\0\0\0\x10"


def may_be_zookeeper(head: bytes) -> bool:
    """Return whether bytes begin like ZooKeeper's first request. `ZOOKEEPER_NEEDS` of them are enough."""
    return head[:3] == b"\0\0\0" and head[3] in (44, 45) and not any(head[4:8])


def response_frames(data: bytes) -> int:
    """Return how many whole responses `data` begins with, their ids counting up.

    0 if no frame starts after them.
    """
    offset = count = 0
    previous = -1
    while offset + 8 <= len(data):
        size, correlation_id = struct.unpack_from(">ii", data, offset)
        if not MIN_RESPONSE_SIZE <= size <= MAX_FRAME_SIZE:
            return 0
        if correlation_id <= previous or (count and correlation_id > previous + MAX_STEP):
            return 0
        previous = correlation_id
        offset += 4 + size
        count += offset <= len(data)
    return count
