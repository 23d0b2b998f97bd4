"""Multiplies recordings of real clients: every copy has other client ports, and begins after the copy before.

    python benchmarks/multiply.py captures/kafka44_java_share.pcapng --size 30MB -o share.pcap
    python benchmarks/multiply.py captures/kafka44_java_tls13.pcapng --keys captures/kafka44_java_tls13.keys \
        --size 30MB -o tls.pcapng

Payloads stay as they are: correlation ids, bodies and TLS records too. IP and TCP checksums of the copies are
correct where those of the recording are, or its packets complete. If the ports of a client's address run out,
the next address has them. Several recordings follow each other in every copy. Packets without TCP are
left out. A `.pcapng` output contains the secrets of the recordings and of `--keys`.

Identifiers in the payloads repeat too: a copy of a producer begins again with sequence number 0 and the same
producer id. Rules about long histories see such a start as often as there are copies.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from traffic.flow import ACK, SYN, payload_sum
from traffic.options import parse_size
from traffic.sink import FILE_HEADER, MAGIC_NANOSECONDS, RECORD_HEADER, SNAPLEN

sys.path.append(str(Path(__file__).parent.parent))  # if kdissect is not installed

from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_writer import PcapngWriter
from kdissect.capture.key_logs import TLS_KEY_LOG
from kdissect.model.packets.packet import Packet

PAUSE_NS = 1_000_000_000  # between the last packet of a copy and the first of the next
# Between two packets of copies that run side by side: thousands of connections still answer within seconds.
STEP_NS = 5_000
FIRST_PORT, LAST_PORT = 1024, 65535
TCP = 6
# Bytes before the type of the network layer, and before its header, by link type: Ethernet, Linux cooked v1
# and v2 (tcpdump.org/linktypes.html). Raw IP and BSD loopback have no such type.
_TYPES = {1: (12, 14), 113: (14, 16), 276: (0, 20)}
_HEADS = {0: 4, 101: 0}
_HANDSHAKE = b"\x16\x03"  # content type and major version of a TLS record (RFC 8446 section 5.1)
_VLAN = b"\x81\x00"
_IPV4, _IPV6 = 4, 6

End = tuple[bytes, int]
"""Address and port."""


class Segment(NamedTuple):
    """A packet of the recording, and what of it a copy replaces."""

    offset_ns: int
    """From the first packet of its recording; those of earlier recordings come before."""
    data: bytes
    wire_length: int
    connection: int
    address_at: int
    """Where the client's address is."""
    address_bytes: int
    port_at: int
    """Where the client's port is."""
    ip_at: int
    """Where the IPv4 header is."""
    ip_sum: int
    """Words of the IPv4 header without its checksum and the client's address; 0 for IPv6."""
    tcp_at: int
    tcp_sum: int
    """Words that the TCP checksum covers, without the client's port and address."""


class Recording(NamedTuple):
    """What is multiplied: segments in order of time, and the connections that they belong to."""

    segments: list[Segment]
    clients: list[bytes]
    """Address of the client, by connection."""
    brokers: Counter[int]
    """Connections by the port that they were opened to."""
    tls_ports: set[int]
    """The ports of these on which a client sent a TLS handshake."""
    link_type: int
    start_ns: int
    span_ns: int
    secrets: list[bytes]
    """TLS key logs."""

    @property
    def size(self) -> int:
        """Bytes of one copy in a pcap file."""
        return sum(RECORD_HEADER.size + len(segment.data) for segment in self.segments)


class _Headers(NamedTuple):
    ip_at: int
    tcp_at: int
    source: End
    target: End


def read(paths: Sequence[Path]) -> Recording:
    """Read recordings, one after the other in time. ValueError where their link types differ."""
    segments: list[Segment] = []
    clients: list[bytes] = []
    brokers: Counter[int] = Counter()
    tls_ports: set[int] = set()
    secrets: list[bytes] = []
    links: set[int] = set()
    start_ns = span_ns = 0
    for path in paths:
        captures = open_captures([str(path)])
        packets = list(captures.packets())
        secrets += [data for file in captures.files for kind, data in file.secrets if kind == TLS_KEY_LOG]
        found = [(one, head) for one in packets if (head := _headers(one)) is not None]
        if not found:
            raise ValueError(f"{path} has no TCP packets")
        links |= {packet.link_type for packet, _ in found}
        first_ns = min(packet.time_ns for packet, _ in found)
        start_ns = start_ns or first_ns
        listening = _listening([(packet.data, head) for packet, head in found])
        numbers: dict[tuple[End, End], int] = {}
        for packet, head in found:
            client, broker = _sides(head, listening)
            if (client, broker) not in numbers:
                numbers[client, broker] = len(clients)
                clients.append(client[0])
                brokers[broker[1]] += 1
            if packet.data[_payload_at(packet.data, head.tcp_at) :].startswith(_HANDSHAKE):
                tls_ports.add(broker[1])
            offset_ns = span_ns + packet.time_ns - first_ns
            segments.append(_segment(packet, head, client == head.source, offset_ns, numbers[client, broker]))
        span_ns += max(packet.time_ns for packet, _ in found) - first_ns + PAUSE_NS
    if len(links) > 1:
        raise ValueError(f"recordings of several link types cannot share a file: {sorted(links)}")
    segments.sort(key=lambda segment: segment.offset_ns)
    return Recording(segments, clients, brokers, tls_ports, links.pop(), start_ns, span_ns, secrets)


def _headers(packet: Packet) -> _Headers | None:
    """Return the headers of a packet of TCP over IPv4 or IPv6 without extension headers; None for
    any other.
    """
    data = packet.data
    if packet.link_type in _TYPES:
        type_at, at = _TYPES[packet.link_type]
        if data[type_at : type_at + 2] == _VLAN:
            at += 4
    else:
        at = _HEADS[packet.link_type]
    version = data[at] >> 4 if len(data) > at else 0
    if version == _IPV4:
        first, protocol, tcp_at, size = at + 12, data[at + 9], at + (data[at] & 15) * 4, 4
        is_fragment = struct.unpack_from(">H", data, at + 6)[0] & 0x3FFF
    elif version == _IPV6:
        first, protocol, tcp_at, size, is_fragment = at + 8, data[at + 6], at + 40, 16, 0
    else:
        return None
    if protocol != TCP or is_fragment or len(data) < tcp_at + 20:
        return None
    ports = struct.unpack_from(">HH", data, tcp_at)
    source, target = data[first : first + size], data[first + size : first + 2 * size]
    return _Headers(at, tcp_at, (source, ports[0]), (target, ports[1]))


def _payload_at(data: bytes, tcp_at: int) -> int:
    return tcp_at + (data[tcp_at + 12] >> 4) * 4


def _listening(packets: list[tuple[bytes, _Headers]]) -> set[End]:
    """Return the ends that answered or received a SYN."""
    ends = set()
    for data, head in packets:
        flags = data[head.tcp_at + 13] & (SYN | ACK)
        if flags & SYN:
            ends.add(head.source if flags & ACK else head.target)
    return ends


def _sides(head: _Headers, listening: set[End]) -> tuple[End, End]:
    """Return the client and broker.

    Without a handshake the broker has a port that another connection was opened to, or the lower one.
    """
    ports = {port for _, port in listening}

    def likely(end: End) -> tuple[bool, bool, int]:
        return end in listening, end[1] in ports, -end[1]

    client, broker = sorted((head.source, head.target), key=likely)
    return client, broker


def _segment(packet: Packet, head: _Headers, from_client: bool, offset_ns: int, connection: int) -> Segment:
    data = packet.data
    ip_at, tcp_at = head.ip_at, head.tcp_at
    size = len(head.source[0])
    address_at = ip_at + (12 if size == 4 else 8) + (0 if from_client else size)
    port_at = tcp_at + (0 if from_client else 2)
    address, port = head.source if from_client else head.target
    if size == 4:
        end = ip_at + struct.unpack_from(">H", data, ip_at + 2)[0]
        ip_sum = payload_sum(data[ip_at : ip_at + 10] + data[ip_at + 12 : tcp_at]) - payload_sum(address)
    else:
        end = ip_at + 40 + struct.unpack_from(">H", data, ip_at + 4)[0]
        ip_sum = 0
    # An IP length of 0 is that of a segment which the network card was to cut (TSO).
    if ip_at < tcp_at < end <= len(data):
        covered = TCP + end - tcp_at + payload_sum(head.source[0]) + payload_sum(head.target[0])
        covered += payload_sum(data[tcp_at : tcp_at + 16]) + payload_sum(data[tcp_at + 18 : end])
    else:
        # Cut by a snap length: what the checksum of the recording says of the part that is missing.
        covered = -struct.unpack_from(">H", data, tcp_at + 16)[0]
    return Segment(
        offset_ns,
        data,
        packet.wire_length,
        connection,
        address_at,
        size,
        port_at,
        ip_at,
        ip_sum,
        tcp_at,
        covered - payload_sum(address) - port,
    )


class _Client(NamedTuple):
    address: bytes
    address_sum: int
    port: int


def _clients(recording: Recording) -> Iterator[list[_Client]]:
    """For each copy, who the clients of its connections are."""
    free = [port for port in range(FIRST_PORT, LAST_PORT + 1) if port not in recording.brokers]
    number = 0
    while True:
        chosen = []
        for recorded in recording.clients:
            turn, place = divmod(number, len(free))
            moved = int.from_bytes(recorded, "big") + turn
            address = (moved % (1 << 8 * len(recorded))).to_bytes(len(recorded), "big")
            chosen.append(_Client(address, payload_sum(address), free[place]))
            number += 1
        yield chosen


def _copy(segment: Segment, client: _Client) -> bytes:
    data = bytearray(segment.data)
    address, address_sum, port = client
    data[segment.address_at : segment.address_at + segment.address_bytes] = address
    data[segment.port_at : segment.port_at + 2] = port.to_bytes(2, "big")
    if segment.address_bytes == 4:
        at = segment.ip_at + 10
        data[at : at + 2] = (-(segment.ip_sum + address_sum) % 65535).to_bytes(2, "big")
    at = segment.tcp_at + 16
    data[at : at + 2] = (-(segment.tcp_sum + address_sum + port) % 65535).to_bytes(2, "big")
    return bytes(data)


def copies(recording: Recording, count: int, side_by_side: bool = False) -> Iterator[tuple[int, bytes, int]]:
    """Yield the time in nanoseconds since 1970, bytes and wire length of every packet of so many copies, in
    order.

    Copies follow each other, or run `side_by_side`: each packet of the recording comes once for every copy.
    """
    clients = _clients(recording)
    if side_by_side:
        all_clients = [next(clients) for _ in range(count)]
        now_ns = recording.start_ns
        for segment in recording.segments:
            for chosen in all_clients:
                now_ns += STEP_NS
                yield now_ns, _copy(segment, chosen[segment.connection]), segment.wire_length
        return
    for number in range(count):
        chosen = next(clients)
        start_ns = recording.start_ns + number * recording.span_ns
        for segment in recording.segments:
            packet = _copy(segment, chosen[segment.connection])
            yield start_ns + segment.offset_ns, packet, segment.wire_length


def write(file: BinaryIO, recording: Recording, packets: Iterator[tuple[int, bytes, int]], ng: bool) -> None:
    """Write a pcap file with nanoseconds, or a pcapng file with the secrets of the recording."""
    if ng:
        writer = PcapngWriter(file)
        for secret in recording.secrets:
            writer.secrets(TLS_KEY_LOG, secret)
        writer.interface(recording.link_type)
        for time_ns, data, wire_length in packets:
            writer.write(time_ns, data, wire_length)
        return
    file.write(FILE_HEADER.pack(MAGIC_NANOSECONDS, 2, 4, 0, 0, SNAPLEN, recording.link_type))
    for time_ns, data, wire_length in packets:
        file.write(RECORD_HEADER.pack(*divmod(time_ns, 1_000_000_000), len(data), wire_length) + data)


def multiply(
    paths: Sequence[Path],
    output: Path,
    *,
    size: int = 0,
    count: int = 0,
    keys: Sequence[Path] = (),
    side_by_side: bool = False,
) -> tuple[Recording, int]:
    """Write `count` copies, or about `size` bytes of them; return the recording and the number of copies."""
    recording = read(paths)
    recording.secrets.extend(path.read_bytes() for path in keys)
    number = count or max(1, size // recording.size)
    with output.open("wb") as file:
        write(file, recording, copies(recording, number, side_by_side), ".pcapng" in output.suffixes)
    return recording, number


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the command line; exits with 2 on a mistake."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("recordings", nargs="+", type=Path)
    add("--size", type=parse_size, default=10_000_000, help="of the output, about (default: 10MB)")
    add("--copies", type=int, default=0, help="instead of --size")
    add("--side-by-side", action="store_true", help="all copies at the same time")
    add("--keys", type=Path, action="append", default=[], help="a TLS key log to put into a pcapng output")
    add("-o", "--output", type=Path, required=True)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Multiply; the exit code."""
    chosen = parse_arguments(arguments)
    recording, number = multiply(
        chosen.recordings,
        chosen.output,
        size=chosen.size,
        count=chosen.copies,
        keys=chosen.keys,
        side_by_side=chosen.side_by_side,
    )
    ports = ", ".join(map(str, sorted(recording.brokers)))
    print(f"{chosen.output}: {number} copies, broker ports {ports}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
