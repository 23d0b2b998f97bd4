"""Round trips of a connection, and delays by retransmissions, as seen from the capture point.

Rules:
- A packet of one end is timed until the other end acknowledges it: from the capture to that end and back.
- One segment of a direction is timed at a time, as RFC 6298 section 3 requires of the sender. A SYN counts as
  one.
- Only a bare acknowledgment ends a measure: one that comes with data waited for the program that made them.
- A segment that was sent again is not timed: the acknowledgment may be of either copy (RFC 6298 section 3,
  Karn's algorithm).
- A segment that is sent again delays all data that its sender sent since, unless the other end had it
  already:
  it had acknowledged it, reports it by D-SACK (RFC 2883), or answered sooner than a round trip takes.
- An end may wait with its acknowledgment (RFC 9293 section 3.8.6.3): the shortest measure is the best one.
  Acknowledgments of the handshake come at once.
"""

from typing import NamedTuple

from kdissect.net.streams.sequence import HALF, MASK

_MOST_NS = (1 << 63) - 1  # the native engine has 64 bits for it
# Delays of a direction that are remembered until the exchanges they belong to are complete.
DELAYS_KEPT = 16


class AckState(NamedTuple):
    """State of `AckTimes` for the native engine: the attributes with these names."""

    due_seq: int
    due_ns: int
    acked: int
    least_ns: int
    by_handshake: bool


class AckTimes:
    """Times of the other end's acknowledgments of a direction. Numbers are -1 if there is none.

    `due_seq` and `due_ns` are of the segment that is timed. `acked` is the number that the other end
    acknowledged last. `least_ns` is the shortest measure. `by_handshake`: that of the SYN is among them.
    """

    __slots__ = AckState._fields

    def __init__(self) -> None:
        self.due_seq = self.due_ns = self.acked = self.least_ns = -1
        self.by_handshake = False

    def state(self) -> AckState:
        """Return the state for the native engine."""
        return AckState(self.due_seq, self.due_ns, self.acked, self.least_ns, self.by_handshake)

    def take_over(self, state: AckState) -> None:
        """Go on from the native engine's position."""
        self.due_seq, self.due_ns, self.acked, self.least_ns, self.by_handshake = state

    def sent(self, end_seq: int, time_ns: int) -> None:
        """Bytes up to a sequence number were sent for the first time."""
        if self.due_seq < 0:
            self.due_seq, self.due_ns = end_seq, time_ns

    def sent_again(self) -> None:
        """Something was sent again."""
        self.due_seq = self.due_ns = -1

    def acknowledge(self, ack: int, time_ns: int, is_bare: bool, start_seq: int) -> None:
        """Take an acknowledgment of all bytes up to a number, of a stream whose first byte has the number
        `start_seq`.
        """
        self.acked = ack if ack != MASK else -1  # the native engine has 32 bits for it
        due_seq = self.due_seq
        if due_seq < 0 or (ack - due_seq) & MASK >= HALF:
            return
        took_ns = min(time_ns - self.due_ns, _MOST_NS)
        self.due_seq = self.due_ns = -1
        # Clocks that step back, and tools that write all packets of a handshake at one time, have no usable
        # times.
        if not is_bare or took_ns <= 0:
            return
        if self.least_ns < 0:
            self.by_handshake = due_seq == start_seq
        if self.least_ns < 0 or took_ns < self.least_ns:
            self.least_ns = took_ns

    def has_acknowledged(self, end_seq: int) -> bool:
        """Return whether the other end has everything up to a number."""
        return self.acked >= 0 and (self.acked - end_seq) & MASK < HALF


class Delay(NamedTuple):
    """Bytes of a direction were sent again: the bytes after them waited from one time until the other.

    `took_ns` is the part of that time in which no earlier delay was active.
    """

    from_ns: int
    until_ns: int
    took_ns: int


class Part(NamedTuple):
    """The network path to one end and back: the shortest measure, None if there is none.

    Without the handshake's measure the true one may be shorter.
    """

    least_ns: int | None
    by_handshake: bool


class RoundTrips(NamedTuple):
    """The way from the capture to the client and back, and to the broker and back."""

    client: Part
    broker: Part

    @property
    def round_trip_ns(self) -> int | None:
        """Time between client and broker and back, or None if one of the parts is not known."""
        client, broker = self.client.least_ns, self.broker.least_ns
        return None if client is None or broker is None else client + broker


def part_of(times: AckTimes) -> Part:
    """Return the measures as reports show them."""
    return Part(known(times.least_ns), times.by_handshake)


def known(time_ns: int) -> int | None:
    """Return a time, or None for -1."""
    return None if time_ns < 0 else time_ns


# One end is near if its part is at most this part of the other end's.
_NEAR = 10
# Shorter round trips occur within one machine or one rack: the kernel's time hides the network path.
_TOO_SHORT_NS = 100_000


def captured_near(trips: RoundTrips, *, is_one_host: bool) -> str | None:
    """Return the end that the capture is near to: `client`, `broker`, `between`, or `both` ends of one host.

    None if it is unknown. Acknowledgments without a handshake may have waited: of them only one end that
    answers at once is evidence.
    """
    if is_one_host:
        return "both"
    client, broker = trips.client.least_ns, trips.broker.least_ns
    if client is None or broker is None or client + broker < _TOO_SHORT_NS:
        return None
    if client * _NEAR <= broker:
        return "client"
    if broker * _NEAR <= client:
        return "broker"
    return "between" if trips.client.by_handshake and trips.broker.by_handshake else None
