"""Recordings written again with other addresses, times or bodies: connections from SYN to FIN."""

from __future__ import annotations

import ipaddress
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kdissect.api import Dissection
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.session.exchange import Exchange
from tests.support.messages.traffic import ACK, BROKER, CLIENT, FIN, PSH, SYN

METADATA, FIND_COORDINATOR, API_VERSIONS, DESCRIBE_CLUSTER = 3, 10, 18, 60
_MSS = 1400
End = tuple[str, int]
Change = Callable[[int, int, Any], bool]
"""Changes a decoded body of an API and a side. Returns whether it did."""


@dataclass
class Line:
    """A frame that one side sends."""

    side: int
    time_ns: int
    data: bytes
    exchange: Exchange


@dataclass
class Connection:
    """A connection of a recording."""

    ends: tuple[End, End]
    start_ns: int
    lines: list[Line] = field(default_factory=list)


def connections_of(path: Path) -> list[Connection]:
    """Return the Kafka connections of a recording."""
    found: dict[str, Connection] = {}
    for event in Dissection(str(path)).events():
        if isinstance(event, Exchange):
            info = event.connection
            ends = (info.client.host, info.client.port), (info.broker.host, info.broker.port)
            of = found.setdefault(info.id, Connection(ends, info.start_ns))
            for side, frame in ((CLIENT, event.request), (BROKER, event.response)):
                if frame is not None:
                    of.lines.append(Line(side, frame.time_ns, frame.data, event))
    for of in found.values():
        of.lines.sort(key=lambda line: line.time_ns)
    return list(found.values())


def change_bodies(connections: list[Connection], change: Change) -> None:
    """Decode all bodies, and encode those again that `change` changes."""
    for line in (line for of in connections for line in of.lines):
        exchange = line.exchange
        api = None if exchange.api_key is None else protocol_messages.api(exchange.api_key)
        version = exchange.api_version
        if api is None or version is None or version not in api.versions:
            continue
        message = api.request if line.side == CLIENT else api.response
        at = exchange.request_body_offset if line.side == CLIENT else exchange.response_body_offset
        try:
            value, _ = decoder(message, version)(line.data, at)
        except DecodeError:
            continue
        if change(api.key, line.side, value):
            line.data = line.data[:at] + encode(message, version, value)


def forget_clusters(key: int, side: int, body: Any) -> bool:
    """Take the cluster's id away, which Metadata before version 2 does not have."""
    naming = (METADATA, BROKER), (DESCRIBE_CLUSTER, BROKER), (API_VERSIONS, CLIENT)
    if (key, side) not in naming or not getattr(body, "cluster_id", None):
        return False
    body.cluster_id = "" if key == DESCRIBE_CLUSTER else None
    return True


def advertise(address: Callable[[End], End]) -> Change:
    """Return a change of the addresses that brokers name."""

    def change(key: int, side: int, body: Any) -> bool:
        if side != BROKER or key not in (METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER):
            return False
        rows = [body] if hasattr(body, "host") else []
        for row in (*rows, *(getattr(body, "coordinators", None) or getattr(body, "brokers", None) or ())):
            if row.host:
                row.host, row.port = address((row.host, row.port))
        return True

    return change


def move(connections: list[Connection], address: Callable[[End], End]) -> None:
    """Give all ends other addresses, also in bodies."""
    for of in connections:
        of.ends = address(of.ends[CLIENT]), address(of.ends[BROKER])
    change_bodies(connections, advertise(address))


def one_after_the_other(connections: list[Connection], first: int, second: int) -> None:
    """Have a cluster with one port follow two seconds after another one, at the address of the other one."""
    parts = [[one for one in connections if one.ends[BROKER][1] == port] for port in (first, second)]
    end_ns = max(line.time_ns for one in parts[0] for line in one.lines)
    shift_ns = end_ns + 2 * 10**9 - min(one.start_ns for one in parts[1])
    for one in parts[1]:
        one.start_ns += shift_ns
        for line in one.lines:
            line.time_ns += shift_ns
    move(connections, lambda end: (end[0], first) if end[1] == second else end)


def renumber(_key: int, side: int, body: Any) -> bool:
    """Give a broker the node id 7 instead of 1, in the responses that name it."""
    if side != BROKER:
        return False
    rows = [body, *(getattr(body, "brokers", None) or ()), *(getattr(body, "coordinators", None) or ())]
    for topic in getattr(body, "topics", None) or ():
        rows += getattr(topic, "partitions", None) or ()
    for row in rows:
        for name in ("node_id", "broker_id", "leader_id", "controller_id"):
            if getattr(row, name, None) == 1:
                setattr(row, name, 7)
        for name in ("replica_nodes", "isr_nodes"):
            if getattr(row, name, None) == [1]:
                setattr(row, name, [7])
    return True


def follow_without_ids(connections: list[Connection], first: int, second: int) -> None:
    """Have a cluster follow another one at its address, without cluster ids and with another node id."""
    change_bodies(connections, forget_clusters)
    follow_without_id(connections, first, second)


def follow_without_id(connections: list[Connection], first: int, second: int) -> None:
    """Have a cluster follow another one at its address, without its id and with another node id."""
    later = [one for one in connections if one.ends[BROKER][1] == second]
    change_bodies(later, forget_clusters)
    change_bodies(later, renumber)
    one_after_the_other(connections, first, second)


def as_ipv6(end: End) -> End:
    """Return the address that an IPv4 one has in 2001:db8::/32, the prefix for examples (RFC 3849)."""
    return str(ipaddress.IPv6Address((0x20010DB8 << 96) + int(ipaddress.IPv4Address(end[0])))), end[1]


def write(connections: list[Connection], path: Path) -> Path:
    """Write a pcap file; returns its path."""
    packets = sorted(
        (packet for number, of in enumerate(connections) for packet in _packets(of, random.Random(number))),
        key=lambda packet: packet[0],
    )
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)]
    for time_ns, data in packets:
        parts += [struct.pack("<IIII", *divmod(time_ns, 10**9), len(data), len(data)), data]
    path.write_bytes(b"".join(parts))
    return path


def _packets(of: Connection, drawn: random.Random) -> Iterator[tuple[int, bytes]]:
    following = [drawn.randrange(1 << 20, 1 << 30) | 1 for _ in of.ends]

    def packet(side: int, flags: int, data: bytes = b"") -> bytes:
        ends = of.ends[side], of.ends[1 - side]
        numbers = following[side], following[1 - side] if flags & ACK else 0
        following[side] += len(data) + (1 if flags & (SYN | FIN) else 0)
        return _packet(ends, numbers, flags, data)

    time_ns = min([of.start_ns, *(line.time_ns - 3000 for line in of.lines[:1])])
    for side, flags in ((CLIENT, SYN), (BROKER, SYN | ACK), (CLIENT, ACK)):
        yield time_ns, packet(side, flags)
        time_ns += 1000
    for line in of.lines:
        time_ns = max(time_ns, line.time_ns)
        data = struct.pack(">i", len(line.data)) + line.data
        for at in range(0, len(data), _MSS):
            yield time_ns, packet(line.side, PSH | ACK, data[at : at + _MSS])
            time_ns += 1
    for side in (CLIENT, BROKER):
        time_ns += 100_000
        yield time_ns, packet(side, FIN | ACK)


def _packet(ends: tuple[End, End], numbers: tuple[int, int], flags: int, data: bytes) -> bytes:
    hosts = [ipaddress.ip_address(host) for host, _ in ends]
    ports = [port for _, port in ends]
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 5 << 4, flags, 60000, 0, 0) + data
    packed = b"".join(host.packed for host in hosts)
    if hosts[0].version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0)
        return b"\x02" * 12 + b"\x08\x00" + head + packed + tcp
    return b"\x02" * 12 + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + packed + tcp
