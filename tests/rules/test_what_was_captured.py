"""What ended is not taken for what a capture lacks: directions by packets, frames by how they end."""

from collections.abc import Iterable

import pytest

from kdissect.model.packets.packet import Packet
from kdissect.rules.run_coverage.capture_quality import quality_of
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from tests.rules.scripted_connection import findings
from tests.support.messages.traffic import ACK, BROKER, CLIENT, PSH, Conversation, request, response
from tests.support.run import events_of

METADATA = 3
_SOURCE = 14 + 15  # the last byte of the source address, behind Ethernet
CLIENT_HOST, BROKER_HOST = 1, 2  # 10.0.0.1 and 10.0.0.2
ASKED = request(METADATA, 0, 1, bytes(4))
ANSWER = response(1, bytes(300))


def reasons(packets: Iterable[Packet]) -> tuple[str, ...]:
    """Return what the verdict on capture quality says that a capture lacks."""
    coverage = Coverage()
    for event in events_of(packets):
        if isinstance(event, Exchange):
            coverage.add_exchange(event)
        elif isinstance(event, ConnectionClosed):
            coverage.add_connection(event.connection)
    return quality_of(coverage).reasons


def cut_frames(packets: Iterable[Packet]) -> int:
    """Frames that `why` says were captured in part."""
    spots = BlindSpots()
    for event in events_of(packets):
        spots.add(event)
    found: int = spots.facts()["cut_frames"]
    return found


def test_a_broker_that_sends_no_byte_was_captured() -> None:
    assert reasons(Conversation().handshake().client(ASKED).rst(BROKER).packets) == ()
    silent = Conversation().handshake().client(ASKED).packet(BROKER, flags=ACK).fin(CLIENT).fin(BROKER)
    assert reasons(silent.packets) == ()


@pytest.mark.parametrize("only", [CLIENT, BROKER])
def test_packets_of_one_end_alone_are_one_direction(only: int) -> None:
    talk = Conversation().handshake()
    for number in range(1, 6):
        talk.client(request(METADATA, 0, number, bytes(4))).broker(response(number, bytes(8)))
    packets = [one for one in talk.packets if one.data[_SOURCE] == (CLIENT_HOST, BROKER_HOST)[only]]
    assert "1 connection was captured in one direction only" in reasons(packets)


@pytest.mark.parametrize("end", ["fin", "rst of the client", "rst of the broker", "the capture's"])
def test_a_response_that_ends_with_its_connection_is_not_complete(end: str) -> None:
    talk = Conversation().handshake().client(ASKED).broker(ANSWER[:100])
    if end == "fin":
        talk.fin(BROKER).fin(CLIENT)
    elif end != "the capture's":
        talk.rst(CLIENT if "client" in end else BROKER)
    (found,) = [event for event in events_of(talk.packets) if isinstance(event, Exchange)]
    assert str(found.state) == "incomplete"
    assert found.response is not None and found.response.is_cut
    assert found.connection.states == {"incomplete": 1}
    assert found.connection.exchanges == 1
    assert cut_frames(talk.packets) == 0
    assert reasons(talk.packets) == ()


def test_a_request_that_ends_with_its_connection_was_captured() -> None:
    talk = (
        Conversation()
        .handshake()
        .client(ASKED)
        .broker(ANSWER)
        .client(request(METADATA, 0, 2, bytes(400))[:40])
    )
    packets = talk.rst(BROKER).packets
    assert cut_frames(packets) == 0
    assert reasons(packets) == ()


def test_a_frame_that_a_snapshot_length_cut_is_complete_and_captured_in_part() -> None:
    talk = Conversation().handshake().client(ASKED).broker(ANSWER).fin(CLIENT).fin(BROKER)
    packets = [one._replace(data=one.data[:120]) for one in talk.packets]
    (found,) = [event for event in events_of(packets) if isinstance(event, Exchange)]
    assert str(found.state) == "complete"
    assert cut_frames(packets) == 1
    assert "1 frame was captured in part" in reasons(packets)


def test_a_whole_frame_that_a_snapshot_length_cut_off_is_missing() -> None:
    """Two responses are in one packet, of which the capture has the first: no frame is captured in part."""
    second = response(2, bytes(300))
    talk = Conversation().handshake().client(ASKED).client(request(METADATA, 0, 2, bytes(4)))
    talk.packet(BROKER, ANSWER + second, PSH | ACK, snap=54 + len(ANSWER)).fin(CLIENT).fin(BROKER)
    assert reasons(talk.packets) == (f"{len(second)} bytes were cut off by the snapshot length",)
    spots = BlindSpots()
    for event in events_of(talk.packets):
        spots.add(event)
    assert spots.facts()["bytes_cut_off"] == len(second)


def test_a_connection_whose_data_was_cut_off_is_not_called_encrypted() -> None:
    packets = [one._replace(data=one.data[:54]) for one in Conversation().handshake().client(ASKED).packets]
    assert reasons(packets) == (
        f"{len(ASKED)} bytes were cut off by the snapshot length",
        "1 connection was not recognized, because its data was cut off",
    )


VERSIONS = request(18, 0, 1)
LISTED = response(1, bytes(2) + (1).to_bytes(4) + bytes([0, 3, 0, 0, 0, 12]))
EMPTY = response(2, bytes(8))


@pytest.mark.parametrize("loss", ["request", "request and response", "cut off", "nothing"])
def test_a_request_that_may_have_been_apiversions_is_not_missed(loss: str) -> None:
    talk = Conversation().handshake()
    if loss == "cut off":
        talk.packet(CLIENT, VERSIONS, PSH | ACK, snap=54).broker(LISTED)
    elif loss != "nothing":
        talk.lose(CLIENT, VERSIONS)
        talk.broker(LISTED) if loss == "request" else talk.lose(BROKER, LISTED)
    talk.client(request(METADATA, 0, 2, bytes(4))).broker(EMPTY)
    codes = [found.code for found in findings(talk.packets)]
    assert ("VER003" in codes) == (loss == "nothing")
