"""PROXY protocol headers before Kafka and TLS: skipped, however they come, and what they contain is known."""

import socket
import struct

import pytest

from kdissect.session.detection.proxy_header import MAX_HEADERS, ProxyHeaders
from tests.rules.fixtures.connections import client_hello
from tests.session.test_problem import reason
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame, request, response
from tests.support.run import connections_of, exchanges_of

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
METADATA = 3
FROM = ("192.0.2.7", 41234)


def v2(
    source: tuple[str, int] = FROM, tlvs: bytes = b"", command: int = 0x21, family: int | None = None
) -> bytes:
    """Return a header of version 2; the destination is the source."""
    kind = socket.AF_INET6 if ":" in source[0] else socket.AF_INET
    rest = socket.inet_pton(kind, source[0]) * 2 + struct.pack(">H", source[1]) * 2 + tlvs
    of_kind = 0x21 if kind is socket.AF_INET6 else 0x11
    return SIGNATURE + struct.pack(">BBH", command, of_kind if family is None else family, len(rest)) + rest


def v1(line: str = "TCP4 192.0.2.7 10.0.0.9 41234 9092") -> bytes:
    return f"PROXY {line}\r\n".encode()


LOCAL = SIGNATURE + struct.pack(">BBH", 0x20, 0, 0)
UNIX = SIGNATURE + struct.pack(">BBH", 0x21, 0x31, 216) + bytes(216)
UNSPECIFIED = SIGNATURE + struct.pack(">BBH", 0x21, 0, 3) + b"\4\0\0"  # a TLV
IPV6 = v2(("2001:db8::7", 41234))
WITH_TLVS = v2(tlvs=b"\x20" + struct.pack(">H", 9000) + bytes(9000))
HEADERS = {
    "v1": (v1(), "192.0.2.7:41234"),
    "v1 IPv6": (v1("TCP6 2001:db8::7 2001:db8::9 41234 9092"), "[2001:db8::7]:41234"),
    "v1 unknown": (v1("UNKNOWN"), None),
    "v1 unknown with more": (v1("UNKNOWN what ever"), None),
    "v2": (v2(), "192.0.2.7:41234"),
    "v2 IPv6": (IPV6, "[2001:db8::7]:41234"),
    "v2 of a datagram": (v2(family=0x12), "192.0.2.7:41234"),
    "v2 with TLVs": (WITH_TLVS, "192.0.2.7:41234"),
    "v2 of a socket": (UNIX, None),
    "v2 unspecified": (UNSPECIFIED, None),
    "LOCAL": (LOCAL, None),
    "a chain": (v1("TCP4 10.0.0.3 10.0.0.9 1 2") + v2(), "192.0.2.7:41234"),
    "a chain that ends in LOCAL": (v2() + LOCAL, "192.0.2.7:41234"),
}
MALFORMED = {
    "v1 without addresses": v1("TCP4"),
    "v1 of another family": v1("TCP5 192.0.2.7 10.0.0.9 41234 9092"),
    "v1 with an address that is none": v1("TCP4 192.0.2.777 10.0.0.9 41234 9092"),
    "v1 with a port that is none": v1("TCP4 192.0.2.7 10.0.0.9 41234 90920"),
    "v1 too long": v1("UNKNOWN " + "x" * 107),
    "v1 without CR": b"PROXY UNKNOWN\n",
    "v2 of another version": v2(command=0x31),
    "v2 of another command": v2(command=0x22),
    "v2 of another family": v2(family=0x41),
    "v2 of another transport": v2(family=0x13),
    "v2 too short": SIGNATURE + struct.pack(">BBH", 0x21, 0x11, 11) + bytes(11),
}


def kafka(talk: Conversation, first: bytes, mss: int = 1460, in_one: bool = False) -> Conversation:
    """Return a header, then requests with their answers."""
    one = request(METADATA, 0, 1, bytes(4))
    if in_one:
        talk.client(first + one, mss)
    else:
        talk.client(first, mss).client(one, mss)
    return (
        talk.broker(response(1, bytes(8)))
        .client(request(METADATA, 0, 2, bytes(4)))
        .broker(response(2, bytes(8)))
    )


@pytest.mark.parametrize("mss", [1, 7, 1460])
@pytest.mark.parametrize("in_one", [False, True])
@pytest.mark.parametrize(("header", "proxied"), HEADERS.values(), ids=HEADERS)
def test_a_header_is_skipped_and_its_address_known(
    header: bytes, proxied: str | None, in_one: bool, mss: int
) -> None:
    packets = kafka(Conversation().handshake(), header, mss, in_one).fin(CLIENT).fin(BROKER).packets
    found = exchanges_of(packets)
    assert [(one.api_key, one.correlation_id, str(one.state)) for one in found] == [
        (METADATA, 1, "complete"), (METADATA, 2, "complete"),
    ]  # fmt: skip
    (connection,) = connections_of(packets)
    assert (str(connection.kind), connection.proxied_text) == ("kafka", proxied)
    assert not connection.anomaly_counts
    assert not connection.middle_start
    assert not any(one.all_anomalies() for one in found)


@pytest.mark.parametrize(("header", "proxied"), HEADERS.values(), ids=HEADERS)
def test_of_a_port_that_is_forced(header: bytes, proxied: str | None) -> None:
    packets = kafka(Conversation(ports=(40000, 9999)).handshake(), header).packets
    assert [one.api_key for one in exchanges_of(packets, ports=[9999])] == [METADATA, METADATA]


@pytest.mark.parametrize("mss", [1, 1460])
@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_header_makes_no_exchange_and_no_finding(data: bytes, mss: int) -> None:
    """Where others show that Kafka is spoken at this port, it is not read as a request either."""
    known = kafka(Conversation(ports=(40001, 9092)).handshake(), b"")
    talk = Conversation(ports=(40000, 9092)).wait(10**9).handshake().client(data, mss)
    talk.client(request(METADATA, 0, 1, bytes(4))).fin(BROKER).fin(CLIENT)
    packets = [*known.packets, *talk.packets]
    assert {one.connection.client.port for one in exchanges_of(packets)} == {40001}
    kinds = {info.client.port: (str(info.kind), info.proxy) for info in connections_of(packets)}
    assert kinds[40000] == ("unknown", None)


def test_a_header_shows_where_a_connection_begins() -> None:
    """Its SYN was not captured, and the position of what follows is certain."""
    packets = kafka(Conversation(), v2()).packets
    found = exchanges_of(packets)
    assert [one.correlation_id for one in found] == [1, 2]
    (connection,) = connections_of(packets)
    assert (connection.proxied_text, connection.client.port) == ("192.0.2.7:41234", 40000)
    assert not connection.anomaly_counts


def test_a_header_is_the_first_of_its_direction() -> None:
    talk = kafka(Conversation().handshake(), b"").client(v2()).fin(CLIENT)
    (connection,) = connections_of(talk.packets)
    assert connection.proxy is None


def test_who_accepted_the_connection_sends_none() -> None:
    talk = Conversation().handshake().broker(v2()).client(request(METADATA, 0, 1, bytes(4)))
    assert connections_of(talk.packets)[0].proxy is None


@pytest.mark.parametrize("kept", [16, 20, 27])
def test_a_header_that_a_snapshot_length_cut(kept: int) -> None:
    """Its size is known; its address may not be."""
    talk = kafka(Conversation().handshake(), v2())
    packets = [
        one._replace(data=one.data[: len(one.data) - 28 + kept]) if one.data.endswith(v2()) else one
        for one in talk.packets
    ]
    found = exchanges_of(packets)
    assert [(one.correlation_id, str(one.state)) for one in found] == [(1, "complete"), (2, "complete")]
    (connection,) = connections_of(packets)
    assert connection.proxy is not None and connection.proxied is None


def test_tls_after_a_header_begins_at_its_start() -> None:
    talk = Conversation().handshake().client(v2()).client(client_hello("kafka-1.example.com"))
    talk.broker(b"\x15\x03\x03\0\x02\x02\x28").fin(BROKER).fin(CLIENT)
    (connection,) = connections_of(talk.packets)
    assert connection.tls is not None
    assert (connection.tls.sni, connection.proxied_text) == ("kafka-1.example.com", "192.0.2.7:41234")
    assert dict(connection.tls.alerts) == {("server", "handshake_failure"): 1}


def test_more_headers_than_a_chain_has_are_data() -> None:
    headers = ProxyHeaders(0)
    assert headers.take(LOCAL * MAX_HEADERS + LOCAL, 1, 2) == ((LOCAL, 1, 2),)
    assert headers.is_over


@pytest.mark.parametrize("piece", [1, 2, 5, 64])
def test_pieces_that_are_no_header_keep_their_packets(piece: int) -> None:
    data = b"PROXY and something else, which is longer than any header of version 1 may be" * 2
    headers, got = ProxyHeaders(0), []
    for number, at in enumerate(range(0, len(data), piece)):
        got += (
            headers.take(data[at : at + piece], number, number * 10)
            if not headers.is_over
            else [(data[at : at + piece], number, number * 10)]
        )
    assert b"".join(payload for payload, _, _ in got) == data
    assert [(ref, time_ns) for _, ref, time_ns in got] == [(n, n * 10) for n in range(len(got))]


@pytest.mark.parametrize(("header", "closer", "expected"), [
    (LOCAL, CLIENT, "probe"), (v2(), CLIENT, "probe"), (LOCAL, BROKER, "proxy_refused"),
    (v1(), BROKER, "proxy_refused"),
])  # fmt: skip
def test_a_header_alone(header: bytes, closer: int, expected: str) -> None:
    packets = Conversation().handshake().client(header).fin(closer).fin(1 - closer).packets
    assert reason(packets) == expected
    (connection,) = connections_of(packets)
    assert str(connection.kind) == "no_data"


@pytest.mark.parametrize("follows", [request(18, 0, 1), client_hello("a")], ids=["Kafka", "TLS"])
def test_a_broker_that_closes_without_a_byte_refuses_the_header(follows: bytes) -> None:
    def closed(first: bytes) -> str | None:
        talk = Conversation().handshake()
        if first:
            talk.client(first)
        return reason(talk.client(follows).fin(BROKER).fin(CLIENT).packets)

    assert closed(v1()) == closed(v2()) == "proxy_refused"
    assert closed(b"") in ("closed_at_once", "tls_to_plaintext")


def test_a_broker_that_answered_refuses_no_header() -> None:
    talk = Conversation().handshake().client(v1()).client(request(18, 0, 1)).broker(response(1, bytes(6)))
    talk.client(request(METADATA, 0, 2, bytes(4))).fin(BROKER).fin(CLIENT)
    assert reason(talk.packets) == "closed_at_once"


def test_tokens_of_kafka_0_9_come_without_a_handshake() -> None:
    oid = bytes.fromhex("06092a864886f712010202")
    first = oid + b"\1\0" + bytes(300)
    first = b"\x60\x82" + struct.pack(">H", len(first)) + first
    talk = Conversation().handshake().client(frame(first), 5).broker(frame(b"\x60\x0d" + oid + b"\2\0"))
    talk.client(frame(b"")).broker(frame(b"\5\4\5\xff" + bytes(28))).client(frame(b"\5\4\4\xff" + bytes(28)))
    talk.client(request(METADATA, 0, 1, bytes(4))).broker(response(1, bytes(8)))
    talk.client(request(METADATA, 0, 2, bytes(4))).broker(response(2, bytes(8))).fin(CLIENT)
    found = exchanges_of(talk.packets)
    assert [(str(one.kind), one.correlation_id, str(one.state)) for one in found] == [
        ("sasl_token", None, "complete"),
        ("sasl_token", None, "complete"),
        ("sasl_token", None, "no_response_expected"),
        ("kafka", 1, "complete"),
        ("kafka", 2, "complete"),
    ]
    (connection,) = connections_of(talk.packets)
    assert (str(connection.kind), connection.mechanism) == ("kafka", "GSSAPI")
    assert not any(one.all_anomalies() for one in found)


def test_a_hole_after_a_header_is_found_where_the_syn_was_not_captured() -> None:
    """The position is known again behind it, however often the engine had the connection."""
    talk = kafka(Conversation(), v2())
    for number in range(3, 30):
        if number == 20:
            talk.lose(CLIENT, request(METADATA, 0, number, bytes(4)))
        else:
            talk.client(request(METADATA, 0, number, bytes(4)))
        talk.broker(response(number, bytes(8)))
    (connection,) = connections_of(talk.packets)
    assert connection.anomaly_counts == {"gap": 1, "skipped_bytes": 1, "resynchronised": 1}
