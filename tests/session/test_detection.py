"""Kafka is recognised by content on any port; everything else is named or unknown, never garbage."""

import struct

import pytest

from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame, request, response
from tests.support.run import connections_of, exchanges_of

HEARTBEAT = 12
BODY = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m"


def test_any_port() -> None:
    talk = (
        Conversation(ports=(5555, 1234))
        .handshake()
        .client(request(HEARTBEAT, 0, 1, BODY))
        .broker(response(1, b"\0\0"))
    )
    (found,) = exchanges_of(talk.packets)
    assert (found.connection.client_text, found.connection.broker_text) == ("10.0.0.1:5555", "10.0.0.2:1234")


@pytest.mark.parametrize("mss", [1, 7, 1460])
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + b"\0" * 64, "tls"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "http"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "ssh"),
        (frame(struct.pack(">iqiqi", 0, 0, 30000, 0, 16) + b"\0" * 17), "zookeeper"),
        (b"\x00\x00\x00\x54\x00\x03\x00\x00user\0postgres\0database\0" + b"x" * 60, "unknown"),
        (b"*1\r\n$4\r\nPING\r\n", "unknown"),
    ],
)
def test_foreign_protocols_are_opaque_and_named(data: bytes, kind: str, mss: int) -> None:
    talk = (
        Conversation()
        .handshake()
        .client(data, mss)
        .broker(b"\xfe\x00garbage" * 20, mss)
        .fin(CLIENT)
        .fin(BROKER)
    )
    assert exchanges_of(talk.packets) == []
    assert [str(c.kind) for c in connections_of(talk.packets)] == [kind]


def test_a_port_can_be_forced() -> None:
    odd = frame(
        struct.pack(">hhih", 12, 0, 1, 4) + b"\x01\x02\x03\x04" + BODY
    )  # client id that nobody would guess
    talk = Conversation(ports=(40000, 9999)).handshake().client(odd).broker(response(1, b"\0\0"))
    assert exchanges_of(talk.packets) == []
    (found,) = exchanges_of(talk.packets, ports=[9999])
    assert (found.api_key, found.correlation_id) == (12, 1)


def test_broker_heard_alone() -> None:
    talk = Conversation()
    for i in range(7, 12):
        talk.packet(BROKER, response(i, b"\0\0"), 24)
    found = exchanges_of(talk.packets)
    assert [e.correlation_id for e in found] == list(range(7, 12))
    assert {str(e.state) for e in found} == {"orphan_response"}
    assert found[0].connection.broker_text == "10.0.0.2:9092"


@pytest.mark.parametrize("cut", [1, 4, 7, 12])
@pytest.mark.parametrize("size", [2, 40])
@pytest.mark.parametrize("begins", ["request", "response", "middle", "short middle"])
def test_from_the_middle_where_frames_come_in_two_segments(begins: str, size: int, cut: int) -> None:
    """Some clients write a frame's size alone, and its content behind it."""
    talk = Conversation()
    if begins == "short middle":
        talk.packet(CLIENT, b"\0\0rest", 24).packet(BROKER, b"\0\0rest", 24)
    elif begins == "middle":
        talk.packet(CLIENT, b"\xffthe rest of a frame" * 3, 24).packet(BROKER, b"\xffand of another", 24)
    for number in range(10, 15):
        sent, answer = request(HEARTBEAT, 0, number, BODY), response(number, bytes(size))
        if begins != "response" or number > 10:
            talk.packet(CLIENT, sent[:cut], 24).packet(CLIENT, sent[cut:], 24)
        for part in filter(None, (answer[:cut], answer[cut:])):
            talk.packet(BROKER, part, 24)
    found = [each for each in exchanges_of(talk.packets) if str(each.state) == "complete"]
    assert [each.correlation_id for each in found][-4:] == [11, 12, 13, 14]


def test_what_stands_before_a_gap_is_judged_once() -> None:
    """A request's first twelve bytes twice would be a whole one, and its answer proof."""
    begin = struct.pack(">ihhi", 10, 18, 0, 5)
    rest = b"\xff" * 30
    talk = Conversation().packet(CLIENT, begin, 24).lose(CLIENT, rest).packet(CLIENT, rest, 24)
    talk.packet(BROKER, b"", 16).packet(BROKER, response(5, b"\0\0"), 24).fin(CLIENT).fin(BROKER)
    assert [str(c.kind) for c in connections_of(talk.packets)] == ["unknown"]


def test_connection_without_data() -> None:
    talk = Conversation().handshake().fin(CLIENT).fin(BROKER)
    assert [str(c.kind) for c in connections_of(talk.packets)] == ["no_data"]


def test_two_connections_on_one_port_pair() -> None:
    first = (
        Conversation()
        .handshake()
        .client(request(HEARTBEAT, 0, 1, BODY))
        .broker(response(1, b"\0\0"))
        .rst(CLIENT)
    )
    second = Conversation(isn=(900_000, 70_000), start_ns=first.now).handshake()
    second.client(request(HEARTBEAT, 0, 1, BODY)).broker(response(1, b"\0\0"))
    found = exchanges_of(first.packets + second.packets)
    assert [str(e.state) for e in found] == ["complete", "complete"]
    assert found[0].connection.id != found[1].connection.id
