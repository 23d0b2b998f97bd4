"""Bodies and payloads: counts, lengths, tags and nesting that lie."""

import base64
import gzip
import struct
from collections.abc import Callable
from typing import Any

from kdissect.decoders.encoder import encode_request, encode_response
from tests.hostile.framing import streams
from tests.support.messages.traffic import BROKER, CLIENT, request

TELEMETRY, ENVELOPE = 72, 58


def exchange(key: int, version: int, asked: bytes, answered: bytes = b"") -> Callable[[], bytes]:
    """Return a good exchange, then a request and a response with any bodies."""
    pieces = [(CLIENT, request(key, version, 5, asked))]
    if answered:
        pieces.append((BROKER, struct.pack(">ii", len(answered) + 4, 5) + answered))
    return streams(*pieces)


def encoded(key: int, version: int, fields: dict[str, Any]) -> Callable[[], bytes]:
    """Return a good exchange, then a request with these fields."""
    return streams((CLIENT, encode_request(key, version, 5, "me", fields)))


def telemetry(metrics: bytes, codec: int = 0) -> Callable[[], bytes]:
    """Metrics pushed by a client."""
    return encoded(TELEMETRY, 0, {"compression_type": codec, "metrics": metrics})


def _nested_metrics() -> bytes:
    """AnyValue in ArrayValue in AnyValue, 400 times."""
    value = b"\x0a\x01x"
    for _ in range(400):
        inner = b"\x0a" + _varint(len(value)) + value
        value = b"\x2a" + _varint(len(inner)) + inner
    attribute = b"\x0a\x01k\x12" + _varint(len(value)) + value
    resource = b"\x0a" + _varint(len(attribute)) + attribute
    metrics = b"\x0a" + _varint(len(resource)) + resource
    return b"\x0a" + _varint(len(metrics)) + metrics


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _envelopes(depth: int) -> bytes:
    inner = request(3, 1, 1, b"\xff\xff\xff\xff")[4:]
    for _ in range(depth):
        fields = {"request_data": inner, "request_principal": b"", "client_host_address": b"\x7f\0\0\1"}
        inner = encode_request(ENVELOPE, 0, 1, "me", fields)[4:]
    return inner


def _nested_json() -> Callable[[], bytes]:
    claims = base64.urlsafe_b64encode(b"[" * 30_000).rstrip(b"=")
    token = b"n,,\x01auth=Bearer e30." + claims + b".x\x01\x01"
    return streams(
        (CLIENT, encode_request(17, 1, 5, "me", {"mechanism": "OAUTHBEARER"})),
        (BROKER, encode_response(17, 1, 5, {"mechanisms": ["OAUTHBEARER"]})),
        (CLIENT, encode_request(36, 0, 6, "me", {"auth_bytes": token})),
        (BROKER, encode_response(36, 0, 6, {"error_code": 0})),
        (CLIENT, request(3, 1, 7, b"\x7f\xff\xff\xff")),
    )


def _assignments() -> bytes:
    """Return a subscription that claims two billion topics."""
    protocol = struct.pack(">hi", 1, 0x7FFFFFFF) + b"\0\1t" * 50
    fields = {
        "group_id": "g",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": protocol}],
    }
    return encode_request(11, 4, 5, "me", fields)


FILES: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    ("array-of-2g", "malformed_body", exchange(3, 1, b"\x7f\xff\xff\xff" + b"\0\1t" * 10)),
    ("array-of-minus-9", "malformed_body", exchange(3, 1, b"\xff\xff\xff\xf7")),
    (
        "array-of-2g-in-a-response",
        "malformed_body",
        exchange(3, 1, b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff" + bytes(99)),
    ),
    ("compact-array-of-4g", "malformed_body", exchange(3, 9, b"\0\xff\xff\xff\xff\x0f" + bytes(40))),
    ("varint-without-end", "malformed_body", exchange(3, 9, b"\0" + b"\xff" * 40)),
    ("varint-of-33-bits", "malformed_body", exchange(3, 9, b"\0\xff\xff\xff\xff\x1f" + bytes(40))),
    (
        "tags-by-the-billion",
        "malformed_body",
        exchange(3, 9, b"\0\x01\0\0\0\xff\xff\xff\xff\x07" + b"\x05\x00" * 4000),
    ),
    (
        "tag-longer-than-the-frame",
        "malformed_body",
        exchange(3, 9, b"\0\x01\0\0\0\x01\x05\xff\xff\xff\x07" + bytes(50)),
    ),
    ("string-longer-than-the-frame", "malformed_body", exchange(3, 1, b"\0\0\0\1\x7f\xffabc")),
    ("string-of-negative-length", "malformed_body", exchange(3, 1, b"\0\0\0\1\xff\xf0abc")),
    ("null-where-none-may-be", "malformed_body", exchange(12, 0, b"\xff\xff\0\0\0\1\0\1m")),
    ("body-of-nothing", "malformed_body", exchange(1, 4, b"")),
    ("bytes-behind-the-body", "trailing_bytes", exchange(3, 1, b"\xff\xff\xff\xff" + b"more" * 1000)),
    (
        "60000-topics-of-nothing",
        "malformed_body",
        exchange(3, 1, struct.pack(">i", 60_000) + b"\0\0" * 59_999),
    ),
    ("subscription-of-2g-topics", "malformed_payload", streams((CLIENT, _assignments()))),
    (
        "envelope-in-envelope",
        "malformed_payload",
        lambda: encoded(
            ENVELOPE,
            0,
            {"request_data": _envelopes(12)[:-3], "request_principal": b"\0\1", "client_host_address": b"1"},
        )(),
    ),
    ("metrics-in-metrics", "malformed_payload", lambda: telemetry(_nested_metrics())()),
    ("metrics-bomb", "malformed_payload", lambda: telemetry(gzip.compress(bytes(40 << 20), mtime=0), 1)()),
    ("metrics-of-a-codec-below-0", "malformed_payload", telemetry(b"abc", -3)),
    ("json-in-json", "malformed_body", lambda: _nested_json()()),
)
