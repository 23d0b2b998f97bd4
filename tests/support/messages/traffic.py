"""Builds packets of one TCP connection, byte by byte, without kdissect's own code."""

import struct

from kdissect.model.packets.packet import Packet, packet_ref

CLIENT, BROKER = 0, 1
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START_NS = 1_700_000_000_000_000_000
STEP_NS = 1_000_000


def frame(content: bytes) -> bytes:
    """Return a Kafka frame: size prefix and content."""
    return struct.pack(">i", len(content)) + content


def request(
    key: int, version: int, correlation_id: int, body: bytes = b"", client_id: bytes | None = b"test"
) -> bytes:
    """Return a request frame with header v1."""
    text = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return frame(struct.pack(">hhi", key, version, correlation_id) + text + body)


def response(correlation_id: int, body: bytes = b"") -> bytes:
    """Return a response frame with header v0."""
    return frame(struct.pack(">i", correlation_id) + body)


class Conversation:
    """Packets of one connection in the order they are sent.

    `packets` may be reordered or thinned out by the test.
    """

    def __init__(
        self, client: str = "10.0.0.1", broker: str = "10.0.0.2", ports: tuple[int, int] = (40000, 9092),
        isn: tuple[int, int] = (1000, 5000), start_ns: int = START_NS,
    ) -> None:  # fmt: skip
        self._addresses = tuple(bytes(map(int, host.split("."))) for host in (client, broker))
        self._ports = ports
        self._next = list(isn)
        self._id = 0
        self.now = start_ns
        self.packets: list[Packet] = []

    def handshake(self) -> "Conversation":
        """SYN, SYN+ACK, ACK."""
        self.packet(CLIENT, flags=SYN)
        self.packet(BROKER, flags=SYN | ACK)
        return self.packet(CLIENT, flags=ACK)

    def client(self, data: bytes, mss: int = 1460) -> "Conversation":
        """Send data from the client, in segments of at most `mss` bytes."""
        return self._data(CLIENT, data, mss)

    def broker(self, data: bytes, mss: int = 1460) -> "Conversation":
        """Send data from the broker."""
        return self._data(BROKER, data, mss)

    def _data(self, side: int, data: bytes, mss: int) -> "Conversation":
        for at in range(0, len(data), mss):
            self.packet(side, data[at : at + mss], PSH | ACK)
        return self

    def fin(self, side: int) -> "Conversation":
        """FIN from one side."""
        return self.packet(side, flags=FIN | ACK)

    def rst(self, side: int) -> "Conversation":
        """RST from one side."""
        return self.packet(side, flags=RST | ACK)

    def lose(self, side: int, data: bytes) -> "Conversation":
        """Send data that the receiver gets and the capture does not."""
        self.packet(side, data, PSH | ACK)
        self.packets.pop()
        return self

    def wait(self, nanoseconds: int) -> "Conversation":
        """Let time pass."""
        self.now += nanoseconds
        return self

    def packet(
        self, side: int, data: bytes = b"", flags: int = ACK, snap: int | None = None
    ) -> "Conversation":
        """Return one packet; `snap` keeps only that many bytes of it."""
        self.now += STEP_NS
        self._id = (self._id + 1) & 0xFFFF
        tcp = struct.pack(
            ">HHIIBBHHH", self._ports[side], self._ports[1 - side], self._next[side] & 0xFFFFFFFF,
            self._next[1 - side] & 0xFFFFFFFF if flags & ACK else 0, 5 << 4, flags, 65535, 0, 0,
        )  # fmt: skip
        ip = struct.pack(
            ">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), self._id, 0, 64, 6, 0,
            self._addresses[side], self._addresses[1 - side],
        )  # fmt: skip
        raw = b"\x02" * 12 + b"\x08\x00" + ip + tcp + data
        self._next[side] += len(data) + (1 if flags & (SYN | FIN) else 0)
        number = len(self.packets) + 1
        self.packets.append(Packet(packet_ref(0, number), self.now, 1, raw[:snap], len(raw)))
        return self
