"""Conversations as inputs: who said which bytes, one after the other; how they are mutated and put into
packets.

The first byte has flags (1: with a handshake, 2: closed at the end), then pieces follow: side (one byte),
length (two), bytes.
"""

import struct
from functools import cache
from random import Random

from fuzz.mutators import mutate_bytes
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.decoders.headers import request_header_version
from kdissect.model.packets.packet import Packet
from kdissect.schema import protocol_messages
from tests.conformance.random_values import ValueMaker
from tests.support.messages.batches import batch_bytes, record_bytes
from tests.support.messages.traffic import CLIENT, Conversation, request

_PIECE = struct.Struct(">BH")
HANDSHAKE, CLOSED = 1, 2
Pieces = list[tuple[int, bytes]]


def build(flags: int, pieces: Pieces) -> bytes:
    """Return an input of pieces."""
    return bytes((flags,)) + b"".join(_PIECE.pack(side, len(data) & 0xFFFF) + data for side, data in pieces)


MOST_CHANGED = 60  # pieces of an input that is mutated


def parse(data: bytes, most: int = MOST_CHANGED) -> tuple[int, Pieces]:
    """Return flags and pieces, whatever the bytes are."""
    pieces: Pieces = []
    at = 1
    while at + _PIECE.size <= len(data) and len(pieces) < most:
        side, length = _PIECE.unpack_from(data, at)
        at += _PIECE.size
        if data[at : at + length]:
            pieces.append((side & 1, data[at : at + length]))
        at += length
    return (data[0] if data else 0), pieces


def packets(data: bytes, mss: int = 1460) -> list[Packet]:
    """Return the pieces as packets of one connection."""
    flags, pieces = parse(data, len(data))
    talk = Conversation()
    if flags & HANDSHAKE:
        talk.handshake()
    for side, content in pieces:
        (talk.client if side == CLIENT else talk.broker)(content, mss)
    if flags & CLOSED:
        talk.fin(flags >> 2 & 1)
    return talk.packets


def grow(parts: list[bytes]) -> bytes:
    """Return all that is said in the parts, on one connection."""
    pieces = [piece for part in parts for piece in parse(part)[1]]
    return build(parts[0][0] if parts[0] else HANDSHAKE, pieces)


def wire_bytes(packets: list[Packet]) -> int:
    """Return what a capture of the packets holds."""
    return sum(len(packet.data) for packet in packets)


def mutate(data: bytes, dice: Random, other: bytes) -> bytes:
    """Return bytes of a piece, mostly with the size put right; pieces doubled, dropped, swapped, taken from
    others."""
    if dice.random() < 0.15:
        return mutate_bytes(data, dice, other)
    flags, pieces = parse(data)
    if not pieces:
        return other
    at = int(dice.random() * len(pieces))
    kind = dice.random()
    side, content = pieces[at]
    if kind < 0.65:
        skip = dice.choice((0, 4, 4, 4, 12))
        content = content[:skip] + mutate_bytes(content[skip:], dice, other)
        sized = skip and len(content) >= 4 and dice.random() < 0.85
        pieces[at] = side, struct.pack(">i", len(content) - 4) + content[4:] if sized else content
    elif kind < 0.7:
        pieces.insert(int(dice.random() * len(pieces)), (side, content))
    elif kind < 0.75:
        del pieces[at]
    elif kind < 0.8:
        to = int(dice.random() * len(pieces))
        pieces[at], pieces[to] = pieces[to], pieces[at]
    elif kind < 0.9:
        pieces[at:at] = parse(other)[1][:4]
    elif kind < 0.95:
        pieces[at] = 1 - side, content
    else:
        flags = int(dice.random() * 8)
    return build(flags, pieces)


@cache
def seeds(longest: int, every: bool = False) -> tuple[bytes, ...]:
    """Return exchanges of all APIs (`every` version, or the first and last), with SASL, records, and what is
    odd.
    """
    made = []
    for api in protocol_messages.all_apis():
        versions = range(api.versions.first, api.versions.last + 1)
        for version in versions if every else sorted({versions[0], versions[-1]}):
            pieces: Pieces = []
            for number in (1, 2):
                asked = ValueMaker(api.request, version, number, most=1).body()
                answered = ValueMaker(api.response, version, number, most=1).body()
                client = "me" if request_header_version(api.key, version) else None
                pieces.append((0, encode_request(api.key, version, number, client, asked)))
                pieces.append((1, encode_response(api.key, version, number, answered)))
            made += [build(HANDSHAKE | CLOSED, pieces[:2]), build(HANDSHAKE, pieces)]
    made += _special()
    return tuple(one for one in made if len(one) <= longest)


def _special() -> list[bytes]:
    batch = batch_bytes(
        record_bytes(0, 0, b"k", b"v") + record_bytes(1, 5, None, b"w"), 2, producer_id=9, epoch=0, sequence=0
    )
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    produce = encode_request(0, 8, 1, "me", {"acks": -1, "timeout_ms": 9, "topic_data": [topic]})
    no_answer = encode_request(0, 8, 1, "me", {"acks": 0, "timeout_ms": 9, "topic_data": [topic]})
    answer = encode_response(0, 8, 1, {"responses": [{"name": "t", "partition_responses": [{"index": 0}]}]})
    partition = {"partition_index": 0, "high_watermark": 2, "records": batch}
    fetched = encode_response(1, 11, 2, {"responses": [{"topic": "t", "partitions": [partition]}]})
    fetch = encode_request(1, 11, 2, "me", {"topics": [{"topic": "t", "partitions": [{"partition": 0}]}]})
    hello = encode_request(17, 0, 3, "me", {"mechanism": "PLAIN"})
    welcome = encode_response(17, 0, 3, {"mechanisms": ["PLAIN"]})
    token = struct.pack(">i", 12) + b"\0alice\0secret"[:12]
    heard = [(1, encode_response(3, 1, n, {"brokers": [], "topics": []})) for n in (4, 5, 6)]
    return [
        build(3, [(0, produce), (1, answer), (0, fetch), (1, fetched)]),
        build(1, [(0, no_answer)] * 7),
        build(3, [(0, hello), (1, welcome), (0, token), (1, bytes(4)), (0, produce), (1, answer)]),
        build(0, heard),
        build(1, [(0, request(18, 99, 1, b"abc")), (1, b"\0\0\0\x06\0\0\0\1\0\x23")]),
        build(1, [(0, b"GET / HTTP/1.1\r\n\r\n")]),
        build(1, [(0, b"\x16\x03\x01\x00\x05hello")]),
        build(1, [(0, b"\xff\xff\xff\xff" + produce), (1, answer), (0, fetch), (1, fetched)]),
    ]
