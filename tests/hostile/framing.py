"""Frames and headers: sizes that lie, floods of correlation ids, tokens and kinds, floods against the
search."""

import struct
from collections.abc import Callable

from kdissect.decoders.encoder import encode_request, encode_response
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame, request, response
from tests.support.packets.pcaps import pcap_bytes

METADATA = b"\xff\xff\xff\xff"
GOOD = request(3, 1, 1, METADATA)
ANSWER = response(1, bytes(12))
JUMBO = 60_000


def streams(*pieces: tuple[int, bytes]) -> Callable[[], bytes]:
    """Return a good exchange, then these bytes."""

    def make() -> bytes:
        talk = Conversation().handshake().client(GOOD).broker(ANSWER)
        for side, data in pieces:
            (talk.client if side == CLIENT else talk.broker)(data, JUMBO)
        return pcap_bytes(talk.packets)

    return make


def client(*frames: bytes) -> Callable[[], bytes]:
    """Return the same with bytes of the client."""
    return streams((CLIENT, b"".join(frames)))


def _headers(count: int) -> bytes:
    """Return requests of as many APIs and versions as there can be, small."""
    return b"".join(request(100 + n // 300, n % 300, n, client_id=b"abc") for n in range(count))


def _marks() -> bytes:
    """Behind a lost position: what looks like a request of the client every 14 bytes, none of which is
    whole."""
    fake = struct.pack(">ihhih", 40_000, 3, 1, 7, 4) + b"test"
    return b"\xff\xff\xff\xff" + fake * 3000


def _wrong_and_right() -> bytes:
    """Return a size that is wrong, a good request, in turn: each time the position is lost and found."""
    return (b"\xff\xff\xff\xff" + request(3, 1, 7, METADATA)) * 1500


def _tokens() -> bytes:
    talk = Conversation().handshake()
    talk.client(encode_request(17, 0, 1, "me", {"mechanism": "GSSAPI"}))
    talk.broker(encode_response(17, 0, 1, {"mechanisms": ["GSSAPI"]}))
    talk.client(frame(b"\xff" * 20) * 5000, JUMBO)
    return pcap_bytes(talk.packets)


def _acks_0() -> bytes:
    """Return requests that are never answered, then such as want no answer."""
    produce = encode_request(0, 3, 0, "me", {"acks": 0, "timeout_ms": 1, "topic_data": []})
    unanswered = b"".join(request(3, 1, n, METADATA) for n in range(100, 9999))
    silent = b"".join(produce[:8] + struct.pack(">i", 10_000 + n) + produce[12:] for n in range(2000))
    more = b"".join(request(3, 1, n, METADATA) for n in range(20_000, 20_300))
    return client(unanswered, silent, more)()


def _snapped() -> bytes:
    """Headers alone, behind one exchange."""
    talk = Conversation().handshake().client(GOOD).broker(ANSWER)
    for number in range(3000):
        talk.packet(number & 1, bytes(1000), 24, snap=54)
    return pcap_bytes(talk.packets)


FILES: tuple[tuple[str, str, Callable[[], bytes]], ...] = (
    ("size-negative", "bad_frame_size", client(b"\xff\xff\xff\xff", GOOD)),
    ("size-of-2g", "bad_frame_size", client(b"\x7f\xff\xff\xff", GOOD)),
    ("size-just-too-large", "bad_frame_size", client(b"\x10\0\0\0", GOOD)),
    ("size-of-256m-that-is-not-there", "cut_frame", client(b"\x0f\xff\xff\xff" + GOOD[4:])),
    ("sizes-wrong-and-right-in-turn", "resynchronised", lambda: client(_wrong_and_right())()),
    ("beginnings-everywhere", "bad_frame_size", lambda: client(_marks())()),
    (
        "zeros-where-frames-were",
        "bad_frame_size",
        lambda: streams(
            (CLIENT, request(3, 1, 0, METADATA)), (BROKER, b"\xff\xff\xff\xff" + bytes(200_000))
        )(),
    ),
    ("frame-of-3-bytes", "malformed_header", client(frame(b"abc"), frame(b""), GOOD)),
    ("response-of-2-bytes", "malformed_header", streams((BROKER, frame(b"ab")))),
    (
        "client-id-longer-than-the-frame",
        "malformed_header",
        client(frame(struct.pack(">hhih", 3, 1, 9, 30_000))),
    ),
    ("client-id-of-negative-length", "malformed_header", client(frame(struct.pack(">hhih", 3, 1, 9, -7)))),
    (
        "header-of-a-million-tags",
        "malformed_header",
        client(frame(struct.pack(">hhih", 3, 9, 9, -1) + b"\xc0\x84\x3d" + b"\x01\0" * 2000)),
    ),
    ("unknown-api", "unknown_api", client(request(999, 0, 9, bytes(50)))),
    ("unknown-version", "unknown_version", client(request(3, 99, 9, bytes(50)))),
    ("negative-version", "unknown_version", client(request(3, -5, 9, bytes(50)))),
    ("6000-kinds-of-request", "unknown_api", lambda: client(_headers(6000))()),
    ("correlation-id-reused", "reused_correlation_id", client(*[request(3, 1, 5, METADATA)] * 300)),
    (
        "correlation-id-reused-for-ever",
        "pending_limit",
        lambda: client(request(3, 1, 5, METADATA) * 15_000)(),
    ),
    (
        "in-flight-for-ever",
        "pending_limit",
        lambda: client(b"".join(request(3, 1, n, METADATA) for n in range(15_000)))(),
    ),
    ("no-answer-wanted-behind-unanswered", "pending_limit", _acks_0),
    (
        "answers-to-nothing",
        "orphan_response",
        lambda: streams((BROKER, b"".join(response(n, bytes(40)) for n in range(70, 900))))(),
    ),
    ("answered-twice", "duplicate_response", streams((BROKER, ANSWER * 30))),
    (
        "answered-backwards",
        "out_of_order_response",
        lambda: streams(
            (CLIENT, b"".join(request(3, 1, n, METADATA) for n in range(10, 500))),
            (BROKER, b"".join(response(n, bytes(12)) for n in reversed(range(10, 500)))),
        )(),
    ),
    ("sasl-tokens-without-answer", "pending_limit", _tokens),
    ("headers-alone", "skipped_bytes", _snapped),
)
