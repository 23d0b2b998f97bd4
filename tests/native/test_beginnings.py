"""Connections that begin and end in the native engine report what they report in Python."""

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.engine.analyzer import Analyzer
from kdissect.model.packets.packet import PlainPacket
from kdissect.session.beginning import first_of
from tests.engine.test_in_order import CUTS, DAMAGE, blocks, damaged
from tests.native import packets as asked
from tests.support.messages.traffic import ACK, BROKER, CLIENT, FIN, RST, SYN, Conversation, request, response
from tests.support.python_side import PythonSide

VERSIONS = encode_request(18, 3, 7, "me", {"client_software_name": "soft", "client_software_version": "1"})
METADATA = encode_request(3, 1, 8, "me", {"topics": [{"name": "t"}]})
FIRST = st.sampled_from(
    [
        VERSIONS, VERSIONS, VERSIONS, METADATA, METADATA, encode_request(18, 0, -1, "me", {}),
        request(0, 0, 5, bytes(14), b"me"), request(3, 1, 5, b"\0\0\0\0", b""),
        request(3, 1, 5, b"\0\0\0\0", None), request(17, 0, 5, b"\0\5PLAIN", b"me"),
        request(3, 1, 5, b"\0\0\0\0", b"\xff\xfe"), VERSIONS + METADATA, VERSIONS[:9], METADATA[:-1],
        b"GET / HTTP/1.1\r\n\r\n", b"\x16\3\1\0\5hello", request(3, 99, 5, b"", b"somebody"),
    ]
)  # fmt: skip
ANSWERS = st.sampled_from(
    [
        encode_response(18, 3, 7, {"api_keys": [{"api_key": 3, "max_version": 9}]}),
        response(7, b"\0\x23\0\0\0\0"), response(7, b"\0\x23\0\0\0\0\0\0\0\0\0"),
        encode_response(3, 1, 8, {"brokers": [], "topics": []}), response(5, bytes(8)),
        response(9, b"\0" * 8),
    ]
)  # fmt: skip
MORE = st.sampled_from([METADATA, request(12, 4, 9, bytes(20), b"me"), request(3, 1, 10, b"\0\0\0\0", b"me")])
# What a side sends: a payload (None: a packet without), flags, and nanoseconds before it.
WAITS = st.sampled_from((0, 0, 0, 0, 70_000_000_000, 1_900_000_000_000))
END = st.tuples(
    st.sampled_from((CLIENT, BROKER)),
    st.sampled_from([b"", b"", b"", METADATA[:5], response(9, b"\0" * 8)]),
    st.sampled_from((FIN | ACK, FIN | ACK, ACK, ACK, RST, RST | ACK, FIN, SYN, SYN | ACK, SYN | FIN)),
    WAITS,
)
TALK = st.tuples(st.just(CLIENT), MORE, st.just(ACK), st.just(0)) | st.tuples(
    st.just(BROKER), ANSWERS, st.just(ACK), st.just(0)
)
STEPS = st.builds(
    lambda first, talk, ends: [(CLIENT, first, ACK, 0), *talk, *ends],
    FIRST, st.lists(TALK, max_size=5), st.lists(END, max_size=6),
)  # fmt: skip
HELLO = [(CLIENT, SYN), (BROKER, SYN | ACK), (CLIENT, ACK)]
HANDSHAKES = st.sampled_from(
    [
        HELLO, HELLO,
        [(CLIENT, SYN), (BROKER, SYN | ACK)], [(CLIENT, SYN)], [(BROKER, SYN | ACK), (CLIENT, ACK)], [],
        [(CLIENT, SYN), (BROKER, SYN | ACK), (CLIENT, ACK), (BROKER, ACK)],
    ]
)  # fmt: skip
ISNS = st.sampled_from(((1000, 5000), (0xFFFFFFFF, 5000), (1000, 0xFFFFFFFF), (0xFFFFFFF0, 0x7FFFFFFF)))
CONNECTION = st.tuples(HANDSHAKES, ISNS, STEPS)
SETTINGS = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def said(connections: list[Any]) -> list[PlainPacket]:
    """Return packets of simultaneous connections, in the order of their times."""
    found: list[PlainPacket] = []
    for number, (handshake, isn, steps) in enumerate(connections):
        talk = Conversation(ports=(40000 + number // 2, 9092 + number % 2), isn=isn)
        for side, flags in handshake:
            talk.packet(side, flags=flags)
        for side, data, flags, wait_ns in steps:
            talk.wait(wait_ns + number).packet(side, data, flags)
        found += talk.packets
    return damaged(sorted(found, key=lambda packet: packet[1]), [])


def short(first: bytes, answer: bytes, ends: list[tuple[int, bytes, int, int]]) -> Any:
    """Return a connection of one exchange."""
    return HELLO, (1000, 5000), [(CLIENT, first, ACK, 0), (BROKER, answer, ACK, 0), *ends]


ANSWER = encode_response(3, 1, 8, {"brokers": [], "topics": []})
FINS = [(CLIENT, b"", FIN | ACK, 0), (BROKER, b"", FIN | ACK, 0), (CLIENT, b"", ACK, 0)]


@pytest.mark.exhaustive
@SETTINGS
@given(connections=st.lists(CONNECTION, min_size=1, max_size=4), damage=DAMAGE, cuts=CUTS)
@example([short(METADATA, ANSWER, FINS)] * 3, [], [])
@example([short(METADATA, ANSWER, [(BROKER, b"", RST, 0), (CLIENT, b"", RST | ACK, 0)])], [], [])
@example([short(METADATA, ANSWER, [*FINS, (CLIENT, b"", SYN, 0)])], [], [])
@example([short(METADATA, b"", FINS)], [], [])
def test_any_beginning_and_end(
    python_side: PythonSide, connections: list[Any], damage: Any, cuts: list[int]
) -> None:
    packets = damaged(said(connections), damage)
    assert asked.told_of(packets, cuts) == python_side.call(asked.told_of, packets, cuts)


def test_short_connections(python_side: PythonSide) -> None:
    answers = {VERSIONS: response(7, b"\0\x23\0\0\0\0"), METADATA: ANSWER}
    connections = [
        short(first, answer, FINS[:ends]) for first, answer in answers.items() for ends in range(4)
    ]
    packets = said(connections)
    assert asked.told_of(packets, [9]) == python_side.call(asked.told_of, packets, [9])


def test_they_are_the_engines(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes no packet of an ordinary short connection."""
    unusual: list[int] = []
    feed = Analyzer._feed_unusual
    monkeypatch.setattr(Analyzer, "_feed_unusual", lambda self, *of: unusual.append(of[3]) or feed(self, *of))
    analyzer = Analyzer()
    packets = said([short(METADATA, ANSWER, FINS)] * 3)
    found = [
        event for block in blocks(packets, []) for events in analyzer.feed_each(block) for event in events
    ]
    found += analyzer.close()
    assert unusual == [0]  # the first packet of its capture set
    names = [type(event).__name__ for event in found]
    assert sorted(names) == ["ConnectionClosed"] * 3 + ["ConnectionOpened"] * 3 + ["Exchange"] * 3


@pytest.mark.parametrize("first", [METADATA, VERSIONS], ids=("metadata", "versions"))
def test_the_correlation_id_says_nothing(first: bytes) -> None:
    other = first[:8] + struct.pack(">i", 77) + first[12:]
    assert first_of(first) == first_of(other) is not None
