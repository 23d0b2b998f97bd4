"""Who closed a connection, if the capture lost the FIN of who closed first: both engines."""

import pytest

from kdissect.engine.analyzer import Analyzer
from kdissect.model.packets.stream import CloseKind
from kdissect.session.events import ConnectionClosed
from kdissect.session.info import Close
from tests.support.messages.traffic import (
    BROKER,
    CLIENT,
    FIN,
    SYN,
    Conversation,
    request,
    response,
)

WRAPS = (2**32 - 30, 2**32 - 20)  # the numbers of both directions begin again within the first frames


def talk(isn: tuple[int, int] = (1000, 5000), exchanges: int = 3) -> Conversation:
    """Return a conversation with some exchanges."""
    found = Conversation(isn=isn).handshake()
    for number in range(exchanges):
        found.client(request(18, 0, number)).broker(response(number, bytes(6)))
    return found


def lost(found: Conversation, side: int, flags: int, data: bytes = b"") -> Conversation:
    """Return a packet that the other end received and the capture did not."""
    found.packet(side, data, flags)
    found.packets.pop()
    return found


def close_of(found: Conversation) -> Close | None:
    analyzer = Analyzer()
    events = [event for packet in found.packets for event in analyzer.feed(packet)] + analyzer.close()
    (closed,) = (event for event in events if isinstance(event, ConnectionClosed))
    return closed.connection.close


@pytest.mark.parametrize("isn", [(1000, 5000), WRAPS])
@pytest.mark.parametrize(("closer", "by"), [(CLIENT, "client"), (BROKER, "broker")])
def test_fin_lost(closer: int, by: str, isn: tuple[int, int]) -> None:
    found = lost(talk(isn), closer, FIN | 16).fin(1 - closer)
    assert close_of(found) == Close(by, CloseKind.FIN, found.now)


@pytest.mark.parametrize(("closer", "by"), [(CLIENT, "client"), (BROKER, "broker")])
def test_fin_lost_and_a_reset_instead_of_the_second(closer: int, by: str) -> None:
    found = lost(talk(), closer, FIN | 16).rst(1 - closer)
    assert close_of(found) == Close(by, CloseKind.FIN, found.now)


@pytest.mark.parametrize("closer", [CLIENT, BROKER])
def test_bytes_and_fin_lost_and_a_reset(closer: int) -> None:
    """The bytes alone may be what the RST acknowledges."""
    found = lost(talk(), closer, FIN | 16, request(18, 0, 9)).rst(1 - closer)
    assert close_of(found) == Close(None, CloseKind.RST, found.now)


def test_fin_lost_with_a_request() -> None:
    """The request alone may be what the broker acknowledges."""
    found = lost(talk(), CLIENT, FIN | 16, request(18, 0, 9)).fin(BROKER)
    assert close_of(found) == Close(None, CloseKind.FIN, found.now)


def test_request_lost_and_fin_lost() -> None:
    found = lost(talk().lose(CLIENT, request(18, 0, 9)), CLIENT, FIN | 16).fin(BROKER)
    assert close_of(found) == Close(None, CloseKind.FIN, found.now)


def test_request_lost_before_a_captured_one_and_fin_lost() -> None:
    found = talk().lose(CLIENT, request(18, 0, 9)).client(request(18, 0, 10))
    found = lost(found, CLIENT, FIN | 16).fin(BROKER)
    assert close_of(found) == Close("client", CloseKind.FIN, found.now)


@pytest.mark.parametrize("side", [CLIENT, BROKER])
def test_nothing_lost(side: int) -> None:
    found = talk().fin(side)
    at_ns = found.now
    assert close_of(found.fin(1 - side)) == Close(
        "client" if side == CLIENT else "broker", CloseKind.FIN, at_ns
    )


def test_fin_lost_of_a_connection_without_a_byte() -> None:
    found = lost(Conversation().handshake(), CLIENT, FIN | 16).fin(BROKER)
    assert close_of(found) == Close("client", CloseKind.FIN, found.now)


def test_a_syn_takes_a_number_and_is_no_fin() -> None:
    found = Conversation().packet(CLIENT, flags=SYN).packet(BROKER, flags=SYN | 16).fin(BROKER)
    assert close_of(found) == Close("broker", CloseKind.FIN, found.now)
