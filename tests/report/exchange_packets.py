"""Exchanges that tests made by hand, as packets: what they would have looked like on the wire."""

from collections.abc import Sequence
from operator import attrgetter

from kdissect.model.packets.packet import Packet, packet_ref
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import STEP_NS, Conversation, frame


def packets_of(told: Sequence[Packet] | Sequence[Exchange]) -> list[Packet]:
    """Return packets as they are; those of exchanges in the order of time, each connection opened
    and closed.
    """
    packets = [item for item in told if isinstance(item, Packet)]
    if packets:
        return packets
    by_connection: dict[str, list[Exchange]] = {}
    for exchange in told:
        assert isinstance(exchange, Exchange)
        by_connection.setdefault(exchange.connection.id, []).append(exchange)
    for exchanges in by_connection.values():
        packets += _connection(exchanges)
    packets.sort(key=attrgetter("time_ns"))
    return [packet._replace(ref=packet_ref(0, number)) for number, packet in enumerate(packets, 1)]


def _connection(exchanges: Sequence[Exchange]) -> list[Packet]:
    info = exchanges[0].connection
    frames = []
    for exchange in exchanges:
        for side, sent in enumerate((exchange.request, exchange.response)):
            if sent is not None:
                frames.append((sent.time_ns, side, sent.data))
    frames.sort(key=lambda item: item[:2])
    start = frames[0][0] - 10 * STEP_NS
    talk = Conversation(info.client.host, info.broker.host, start_ns=start).handshake()
    for time_ns, side, data in frames:
        talk.now = max(talk.now, time_ns - STEP_NS)
        (talk.broker if side else talk.client)(frame(data))
    return talk.fin(0).packets
