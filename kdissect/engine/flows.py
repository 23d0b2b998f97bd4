"""The flows that an analyzer has open, and which of them are over or heard longest ago."""

from collections.abc import Mapping
from typing import Protocol

from kdissect.engine.half_open import HalfOpen, time_of
from kdissect.model.segment import PlainSegment
from kdissect.net.tcp import Lane
from kdissect.session.connection import ConnectionAnalyzer

# A connection silent for longer is over; Kafka's own limit is 10 minutes (connections.max.idle.ms,
# SocketServerConfigs).
IDLE_NS = 30 * 60 * 1_000_000_000
# After both ends closed, late retransmissions still belong to the connection: 2 MSL, RFC 9293 section 3.4.2,
# in the 60 s form of Linux.
LINGER_NS = 60 * 1_000_000_000
SWEEP_EVERY_NS = 10 * 1_000_000_000


class Fed(Protocol):
    """What segments are fed to: `TcpConnection`, or who listens to it."""

    def feed(self, direction: int, segment: PlainSegment, ref: int, time_ns: int) -> None:
        """Take the next segment of a direction."""


# What takes the segments of a connection, their direction in it, the connection, and the direction's lane:
# None where every segment must be fed. A half-open one is fed nothing, and has one flow.
Open = tuple[Fed, int, ConnectionAnalyzer, Lane | None]
Flow = Open | tuple[None, int, HalfOpen, None]


def once(table: Mapping[bytes, Flow]) -> list[tuple[ConnectionAnalyzer | HalfOpen, bytes]]:
    """Each connection of a table once, with the flow key of its first packet."""
    return [(connection, flow) for flow, (_, direction, connection, _) in table.items() if direction == 0]


def over_ns(connection: ConnectionAnalyzer | HalfOpen) -> int:
    """When a connection is over if nothing more comes."""
    silent_ns = LINGER_NS if connection.is_over else IDLE_NS
    return ((connection.last_ns + silent_ns) // SWEEP_EVERY_NS + 1) * SWEEP_EVERY_NS


def heard_longest_ago(tables: Mapping[str, Mapping[bytes, Flow]], number: int) -> list[tuple[str, bytes]]:
    """So many connections of all tables: the table's name and the flow key of the first packet.

    Of those heard at one time the first to come.
    """
    flows: list[bytes] = []
    heard: list[int] = []
    names: list[str] = []
    # Hot: every connection there is, again and again in a flood; no tuple is made for any.
    for name, table in tables.items():
        keys = [key for key, flow in table.items() if not flow[1]]
        ones = [table[key][2] for key in keys]
        heard += [time_of(one)[0] if type(one) is HalfOpen else one.last_ns for one in ones]
        flows += keys
        names += [name] * len(keys)
    by_time = sorted(range(len(flows)), key=heard.__getitem__)
    return [(names[at], flows[at]) for at in by_time[:number]]
