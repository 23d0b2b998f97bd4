"""Connections of each client to each broker: how many, how long, how healthy, how they ended."""

from __future__ import annotations

from typing import NamedTuple

from kdissect.history.state_table import Table
from kdissect.session.info import ConnectionInfo, ConnectionKind
from kdissect.stats.client import host_of
from kdissect.tls.tls_info import NO_RECORD

LINKS_KEPT = 10_000  # clients times brokers; 2 KB each
_TIMES_KEPT = 2_000
_SECOND_NS = 1_000_000_000
_MOMENT_NS = 2 * _SECOND_NS
_FLIGHT_BYTES = (
    500  # of a broker, with a certificate. A ServerHello, or the wish for another ClientHello, has 130
)
_HANDSHAKE_BYTES = 1_700  # ClientHello and an alert, or Finished. The first requests of Kafka come after it
SHORT_NS = 10 * _SECOND_NS  # a connection that lasts less was not worth its logins


_CLOSES = "client", "close_notify"


class LinkKey(NamedTuple):
    """A client and the broker that it is connected to."""

    capture_set: str
    host: str
    client_id: str | None
    broker: str


class Ended(NamedTuple):
    """A connection that the broker ended."""

    time_ns: int
    connection: str
    unanswered: int
    how: str
    silent_ns: int = 0
    """From its last response to the close. 0: not known, or requests waited for a response."""


class Link:
    """The connections of a host to a broker. Times are nanoseconds."""

    __slots__ = (
        "begun_before",
        "broken_off",
        "broker_bytes",
        "bytes",
        "delayed_ns",
        "ended",
        "ends",
        "exchanges",
        "first_id",
        "gap_bytes",
        "last_ns",
        "left_ns",
        "opened",
        "packets",
        "resets",
        "retransmissions",
        "short",
        "silent",
        "starts",
        "tls_answers",
        "trips",
        "trips_by_handshake",
        "zero_windows",
        "zero_windows_of_broker",
    )

    def __init__(self) -> None:
        self.opened = self.begun_before = self.exchanges = self.short = self.silent = 0
        self.tls_answers = 0
        """Connections on which the broker answered TLS with TLS."""
        self.packets = self.bytes = self.broker_bytes = self.retransmissions = self.delayed_ns = 0
        self.zero_windows = self.zero_windows_of_broker = 0
        """Windows that the client closed, and windows that the broker closed."""
        self.resets = self.gap_bytes = self.last_ns = self.left_ns = 0
        """`left_ns`: the last time that the client ended a connection; 0: it ended none."""
        self.broken_off: list[tuple[int, str]] = []
        """TLS connections that were ended within the handshake, with their start."""
        self.starts: list[tuple[int, str]] = []
        self.ends: list[int] = []
        """When connections were closed, by whom it may be, or were seen last."""
        self.ended: list[Ended] = []
        self.trips: list[tuple[int, str]] = []
        """Round trips of connections, with their ids."""
        self.trips_by_handshake: list[int] = []
        """Round trips that the handshake shows, which no end delays."""
        self.first_id = ""

    @property
    def trip_ns(self) -> int | None:
        """The median of the shortest round trips of connections."""
        trips = sorted(trip for trip, _ in self.trips)
        return trips[len(trips) // 2] if trips else None

    def open_at(self, time_ns: int) -> int:
        """Return how many connections were open at a time."""
        begun = self.begun_before + sum(start <= time_ns for start, _ in self.starts)
        return begun - sum(end <= time_ns for end in self.ends)

    def add(self, info: ConnectionInfo, silent_since_ns: int = 0) -> None:
        """Count a connection that is over. `silent_since_ns`: from when on it had no use; 0: not known."""
        lasted_ns = info.end_ns - info.start_ns
        self.opened += not info.middle_start
        self.begun_before += info.middle_start
        self.exchanges += info.exchanges
        self.silent += info.kind is ConnectionKind.NO_DATA
        is_ended = info.close is not None and info.close.by is not None
        if not info.middle_start:
            self.short += is_ended and lasted_ns < SHORT_NS
            if len(self.starts) < _TIMES_KEPT:
                self.starts.append((info.start_ns, info.id))
        self.first_id = self.first_id or info.id
        self.last_ns = max(self.last_ns, info.end_ns)
        self._health(info)
        close = info.close
        if len(self.ends) < _TIMES_KEPT:
            self.ends.append(info.end_ns if close is None else close.time_ns)
        if is_broken_off(info) and len(self.broken_off) < _TIMES_KEPT:
            self.broken_off.append((info.start_ns, info.id))
        if close is not None and close.by == "client":
            self.left_ns = max(self.left_ns, close.time_ns)
        if close is not None and close.by == "broker" and len(self.ended) < _TIMES_KEPT:
            silent_ns = max(close.time_ns - silent_since_ns, 0) if silent_since_ns else 0
            self.ended.append(Ended(close.time_ns, info.id, info.unanswered, str(close.how), silent_ns))

    def _health(self, info: ConnectionInfo) -> None:
        tcp = info.tcp
        if tcp is None:
            return
        self.packets += tcp.packets
        self.bytes += tcp.client_bytes + tcp.broker_bytes
        self.broker_bytes += tcp.broker_bytes + tcp.gap_bytes
        self.tls_answers += info.tls is not None and tcp.broker_bytes > 0
        self.retransmissions += tcp.retransmissions
        self.zero_windows += tcp.client_zero_windows
        self.zero_windows_of_broker += tcp.zero_windows - tcp.client_zero_windows
        self.resets += tcp.resets
        self.gap_bytes += tcp.gap_bytes
        if tcp.times is not None:
            self.delayed_ns += tcp.times.delayed_ns
            trip = tcp.times.trips.round_trip_ns
            if trip is not None and len(self.trips) < _TIMES_KEPT:
                self.trips.append((trip, info.id))
                parts = tcp.times.trips.client, tcp.times.trips.broker
                if all(part.by_handshake for part in parts):
                    self.trips_by_handshake.append(trip)


def is_broken_off(info: ConnectionInfo) -> bool:
    """Return whether a TLS connection was ended with no more than a handshake on it.

    TLS 1.3 encrypts alerts: all that shows is that the client sends hardly more than its ClientHello. A
    client may leave it to the broker to close after its alert. Where keys open the handshake to its
    end, it did not fail. A Java client 2.8.2 that refuses a certificate sends 16 kB, most of which are not
    TLS records. A client that leaves before it has a certificate, or says that it closes, has ended:
    librdkafka closes connections to bootstrap servers that it does not need.
    """
    tcp, close = info.tcp, info.close
    if info.kind is not ConnectionKind.TLS or info.middle_start or tcp is None or close is None:
        return False
    if info.tls is not None and info.tls.why is None:
        return False
    is_garbled = info.tls is not None and info.tls.why == NO_RECORD
    is_short = tcp.client_bytes < _HANDSHAKE_BYTES or is_garbled
    is_short &= close.time_ns - info.start_ns < _MOMENT_NS
    says_so = info.tls is not None and _CLOSES in info.tls.alerts
    if close.by == "client" and (tcp.broker_bytes < _FLIGHT_BYTES or says_so):
        return False
    return close.by is not None and tcp.broker_bytes > 0 and is_short


class Links:
    """All of them."""

    def __init__(self) -> None:
        self._links: Table[LinkKey, Link] = Table(LINKS_KEPT)

    def add(self, info: ConnectionInfo, silent_since_ns: int = 0) -> None:
        """Count a connection that is over. `silent_since_ns`: from when on it had no use; 0: not known."""
        key = LinkKey(info.capture_set, host_of(info), info.client_id, info.broker_text)
        self._links.get_or(key, Link).add(info, silent_since_ns)

    def of_broker(self, capture_set: str, broker: str) -> list[tuple[LinkKey, Link]]:
        """Return those to a broker."""
        return [
            (key, link)
            for key, link in self.items()
            if (key.capture_set, key.broker) == (capture_set, broker)
        ]

    def starts_of(self, client_id: str, host: str, broker: str | None = None) -> list[int]:
        """Return when connections of a client began: to one broker, or to all."""
        return [
            start
            for key, link in self.items()
            if (key.client_id or "", key.host) == (client_id, host) and broker in (None, key.broker)
            for start, _ in link.starts
        ]

    def items(self) -> list[tuple[LinkKey, Link]]:
        """Return each with its key."""
        return list(self._links.items())
