"""Nothing is called Kafka that is not: what stands next to it, whole and joined in the middle."""

from pathlib import Path

import pytest

from kdissect.api import Dissection
from kdissect.session.events import ConnectionClosed
from tests.corpus.neighbours import NEIGHBOURS, Said
from tests.support.messages.traffic import BROKER, CLIENT, Conversation
from tests.support.run import connections_of, exchanges_of

PORTS = (9000, 9092)
JOINED = 2  # segments lost before a capture that begins in the middle


def said(lines: Said, port: int, joined: int) -> Conversation:
    """Return a conversation with a handshake, or from the middle, without its first segments."""
    conversation = Conversation(ports=(40000, port))
    if not joined:
        conversation.handshake()
    for at, (side, data) in enumerate(lines):
        if at < joined:
            conversation.lose(side, data)
        else:
            conversation._data(side, data, 1460)
    return conversation if joined else conversation.fin(CLIENT).fin(BROKER)


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("joined", [0, 1, JOINED])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_neighbour_is_not_kafka(name: str, joined: int, port: int) -> None:
    packets = said(NEIGHBOURS[name], port, joined).packets
    assert [str(found.kind) for found in connections_of(packets) if found.kind == "kafka"] == []
    assert exchanges_of(packets) == []


def test_there_are_enough_neighbours() -> None:
    assert len(NEIGHBOURS) >= 60
    assert all({side for side, _ in lines} <= {CLIENT, BROKER} for lines in NEIGHBOURS.values())


def test_recorded_neighbours_are_not_kafka(reference: Path) -> None:
    folder = reference / "third-party" / "neighbours"
    if not folder.is_dir():
        pytest.skip("no recorded neighbours: KDISSECT_REFERENCE holds no third-party/neighbours")
    closed = [
        (path.name, event.connection)
        for path in sorted(folder.iterdir())
        for event in Dissection(str(path)).events()
        if isinstance(event, ConnectionClosed)
    ]
    assert len(closed) > 20
    assert [(name, found.client_text) for name, found in closed if found.kind == "kafka"] == []
