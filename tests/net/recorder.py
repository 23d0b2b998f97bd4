"""What the tests of the TCP layer share: a sink that records, and segments by hand."""

from kdissect.model.packets.segment import ACK, PSH, Segment, reverse_flow
from kdissect.model.packets.stream import CloseKind, Filling, Hole, Part
from kdissect.net.streams.tcp import TcpConnection

CLIENT, BROKER = 0, 1
FLOWS = (
    bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (40001).to_bytes(2) + (9092).to_bytes(2),
    reverse_flow(bytes([10, 0, 0, 1, 10, 0, 0, 2]) + (40001).to_bytes(2) + (9092).to_bytes(2)),
)
MASK = 0xFFFFFFFF


class Recorder:
    """Records a direction: `runs` are its bytes, with holes as lengths, joined; `calls` is every call."""

    def __init__(self, side: int = 0, journal: list[tuple[int, object]] | None = None) -> None:
        self.side = side
        self.journal = [] if journal is None else journal
        self.calls: list[tuple[object, ...]] = []
        self.runs: list[bytes | int] = []
        self.snapped = 0
        self.ends: list[CloseKind] = []

    def opened(self) -> None:
        assert not self.runs
        self.calls.append(("opened",))

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        assert payload
        assert not self.ends
        self.calls.append(("data", payload, ref, time_ns))
        self.journal.append((self.side, payload))
        if self.runs and isinstance(self.runs[-1], bytes):
            self.runs[-1] += payload
        else:
            self.runs.append(payload)

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> None:
        assert length > 0
        assert not self.ends
        self.calls.append(("gap", length, snapped, ref, time_ns))
        self.journal.append((self.side, length))
        self.snapped += length * snapped
        if self.runs and isinstance(self.runs[-1], int):
            self.runs[-1] += length
        else:
            self.runs.append(length)

    def fill(self, hole: Hole, parts: list[Part]) -> Filling:
        raise AssertionError("no hole was given")

    def forget(self, hole: Hole) -> None:
        raise AssertionError("no hole was given")

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        assert not self.ends
        self.calls.append(("end", how, ref, time_ns))
        self.ends.append(how)


class Wire:
    """A connection under test, fed by hand; packets are numbered from 1 and 1 us apart."""

    def __init__(self, isn: tuple[int, int] = (1000, 5000)) -> None:
        journal: list[tuple[int, object]] = []
        self.sinks = (Recorder(0, journal), Recorder(1, journal))
        self.journal = journal
        self.connection = TcpConnection(self.sinks)
        self.isn = isn
        self.number = 0
        self.time_ns = 0

    def send(
        self,
        side: int,
        offset: int,
        payload: bytes = b"",
        flags: int = ACK | PSH,
        ack: int = 0,
        missing: int = 0,
        ip_id: int | None = None,
        wait_ns: int = 1000,
        window: int = 500,
    ) -> Segment:
        """Feed one segment; `offset` and `ack` are stream offsets of the two directions."""
        self.number += 1
        self.time_ns += wait_ns
        segment = Segment(
            FLOWS[side],
            self.isn[side] + 1 + offset & MASK,
            self.isn[1 - side] + 1 + ack & MASK,
            flags,
            window,
            payload,
            missing,
            self.number if ip_id is None else ip_id,
        )
        self.connection.feed(side, segment, self.number, self.time_ns)
        return segment

    def open(self) -> None:
        """Add the three-way handshake."""
        self.send(CLIENT, -1, flags=2)
        self.send(BROKER, -1, flags=2 | ACK)
        self.send(CLIENT, 0, flags=ACK)

    def flush(self, how: CloseKind = CloseKind.CAPTURE_END) -> None:
        """End of capture."""
        self.connection.flush(how, self.time_ns)
