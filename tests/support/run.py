"""Feeds packets to an Analyzer."""

from collections.abc import Iterable

from kdissect.engine.analyzer import Analyzer
from kdissect.model.endpoint import Ports
from kdissect.model.packets.packet import Packet
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo


def events_of(packets: Iterable[Packet], ports: Iterable[int] = ()) -> list[Event]:
    """Return every event of a capture."""
    analyzer = Analyzer(Ports(ports))
    found: list[Event] = []
    for packet in packets:
        found += analyzer.feed(packet)
    return found + analyzer.close()


def exchanges_of(packets: Iterable[Packet], ports: Iterable[int] = ()) -> list[Exchange]:
    """Return every exchange of a capture."""
    return [event for event in events_of(packets, ports) if isinstance(event, Exchange)]


def connections_of(packets: Iterable[Packet], ports: Iterable[int] = ()) -> list[ConnectionInfo]:
    """Return every connection of a capture, in its state at the end."""
    return [event.connection for event in events_of(packets, ports) if isinstance(event, ConnectionClosed)]


def kinds(exchange: Exchange) -> set[str]:
    """Return kinds of the anomalies of an exchange."""
    return {str(anomaly.kind) for anomaly in exchange.all_anomalies()}
