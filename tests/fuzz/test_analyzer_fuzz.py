"""Nothing that packets hold makes the analyzer raise, and how they are cut changes nothing."""

import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.capture.files import open_captures
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.exchange_rows import ExchangeRows
from kdissect.model.packets.packet import Packet
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, request, response
from tests.support.run import events_of, exchanges_of

SHIPPED = Path(__file__).parent.parent.parent / "captures"
SIDES = (CLIENT, BROKER)


def shipped(name: str) -> list[Packet]:
    return list(open_captures([str(SHIPPED / name)]).packets())


def facts(found: list[Exchange]) -> list[tuple[object, ...]]:
    return sorted(
        (
            e.connection.client_text,
            e.ordinal,
            str(e.api_key),
            str(e.state),
            e.request.data if e.request else b"",
            e.response.data if e.response else b"",
        )
        for e in found
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(SIDES), st.binary(min_size=1, max_size=120)), max_size=12),
    st.booleans(),
)
def test_random_bytes_from_the_start_and_from_the_middle(
    parts: list[tuple[int, bytes]], opened: bool
) -> None:
    talk = Conversation()
    if opened:
        talk.handshake()
    for side, data in parts:
        talk.packet(side, data, 24)
    events_of(talk.packets)
    events_of(talk.packets, ports=[9092])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SIDES), st.binary(min_size=1, max_size=200)), max_size=8))
def test_a_valid_prefix_survives_a_random_tail(tail: list[tuple[int, bytes]]) -> None:
    talk = (
        Conversation()
        .handshake()
        .client(request(12, 0, 1, b"\0\1g\0\0\0\1\0\1m"))
        .broker(response(1, b"\0\0"))
    )
    for side, data in tail:
        talk.packet(side, data, 24)
    first = exchanges_of(talk.packets)[0]
    assert (first.api_key, first.correlation_id, str(first.state)) == (12, 1, "complete")


@pytest.mark.exhaustive
@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_mutated_real_packets_raise_nothing(rng: random.Random) -> None:
    packets = shipped("tansu_kp202_admin.pcap")
    for _ in range(20):
        at = rng.randrange(len(packets))
        data = bytearray(packets[at].data + b"\0\0")
        for _ in range(rng.randint(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = rng.choice((len(data), rng.randrange(1, len(data))))
        packets[at] = packets[at]._replace(data=bytes(data[:cut]))
    rows = ExchangeRows(["x"], bodies=True)
    for exchange in exchanges_of(packets):
        rows.row(exchange)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["tansu_kp202_admin.pcap", "tansu_rdk216_txn.pcap", "mock_rdk216_txn.pcap"])
def test_swapped_and_repeated_packets_change_nothing(name: str) -> None:
    packets = shipped(name)
    expected = facts(exchanges_of(packets))
    rng = random.Random(11)
    for _ in range(5):
        mixed = list(packets)
        for at in range(0, len(mixed) - 1, 2):
            if (
                rng.random() < 0.2 and not (mixed[at].data[47] | mixed[at + 1].data[47]) & 7
            ):  # no SYN, FIN, RST
                mixed[at], mixed[at + 1] = mixed[at + 1], mixed[at]
        for _ in range(10):
            at = rng.randrange(len(mixed))
            mixed.insert(at, mixed[at])
        assert facts(exchanges_of(mixed)) == expected


@pytest.mark.parametrize("name", ["tansu_kp202_admin.pcap", "tansu_rdk216_acks.pcap"])
def test_lost_packets_invent_nothing(name: str) -> None:
    packets = shipped(name)
    real = {(e.connection.client_text, e.correlation_id, e.api_key) for e in exchanges_of(packets)}
    rng = random.Random(3)
    for _ in range(20):
        thinned = [packet for packet in packets if rng.random() > 0.05]
        for exchange in exchanges_of(thinned):
            if exchange.request is not None:
                assert (exchange.connection.client_text, exchange.correlation_id, exchange.api_key) in real


def test_state_between_packets_can_be_pickled() -> None:
    packets = shipped("tansu_rdk216_txn.pcap")
    expected = facts(exchanges_of(packets))
    analyzer = Analyzer()
    found: list[Exchange] = []
    for number, packet in enumerate(packets):
        if number % 7 == 0:
            analyzer = pickle.loads(pickle.dumps(analyzer))
        found += [event for event in analyzer.feed(packet) if isinstance(event, Exchange)]
    found += [event for event in analyzer.close() if isinstance(event, Exchange)]
    assert facts(found) == expected


def test_memory_does_not_grow_with_a_connection_that_never_answers() -> None:
    talk = Conversation().handshake()
    body = b"\0\1\0\0\3\xe8\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\0\x10\0\0" + bytes(1 << 20)
    found = 0
    analyzer = Analyzer()
    for number in range(100):
        talk.packets.clear()
        talk.client(request(0, 0, number, body), mss=60_000)
        for packet in talk.packets:
            found += sum(isinstance(event, Exchange) for event in analyzer.feed(packet))
    assert found == 0
    assert len(pickle.dumps(analyzer)) < 80 << 20  # 100 MB were sent; MAX_PENDING_BYTES is 64 MiB
