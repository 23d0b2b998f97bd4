"""Kinds of damage that taps, capture programs and clocks do to a capture of healthy traffic.

Each takes packets of Ethernet and IPv4 and a source of chance, which chooses how much is damaged: the same
seed does the same damage. Nothing of it is a fault of clients or brokers.
"""

from collections.abc import Callable
from random import Random

from kdissect.model.packets.packet import Packet

Packets = list[Packet]
Damage = Callable[[Packets, Random], Packets]
_SECOND_NS = 1_000_000_000
_SYN, _ACK, _RST_FIN_SYN = 0x02, 0x10, 0x07


def damaged(packets: Packets, kind: str, seed: str) -> Packets:
    """Return packets with damage of one kind of `DAMAGES`."""
    return DAMAGES[kind](packets, Random(f"{kind} {seed}"))


def lost(packets: Packets, chance: Random, share: float) -> Packets:
    """Drop this share of the packets, each by chance."""
    return [packet for packet in packets if chance.random() >= share]


def bursts_lost(packets: Packets, chance: Random) -> Packets:
    """Drop some runs of packets, as a full buffer does."""
    left = list(packets)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(packets))
        left[start : start + chance.randint(5, 60)] = []
    return left


def begun_at(packets: Packets, share: float) -> Packets:
    """Drop the first packets: the capture begins in the middle."""
    return packets[int(len(packets) * share) :]


def ended_at(packets: Packets, share: float) -> Packets:
    """Drop the last packets, and cut the last that stays."""
    left = packets[: max(int(len(packets) * share), 1)]
    return [*left[:-1], left[-1]._replace(data=left[-1].data[:60])]


def one_direction(packets: Packets, *, to_broker: bool) -> Packets:
    """Keep the packets of one direction, as a tap on one fibre does."""
    brokers = _brokers(packets)
    return [packet for packet in packets if (_ports(packet)[1] in brokers) is to_broker]


def direction_stops(packets: Packets, chance: Random) -> Packets:
    """Keep the packets of one direction from some time on: the other takes another path."""
    at, to_broker = int(len(packets) * chance.uniform(0.3, 0.7)), chance.random() < 0.5
    brokers = _brokers(packets)
    return packets[:at] + [one for one in packets[at:] if (_ports(one)[1] in brokers) is to_broker]


def snapped(packets: Packets, length: int) -> Packets:
    """Cut each packet at a snapshot length."""
    return [packet._replace(data=packet.data[:length]) for packet in packets]


def reordered(packets: Packets, chance: Random, share: float = 0.05) -> Packets:
    """Exchange some packets with the next one; the times in the file still ascend."""
    swapped = list(packets)
    for at in range(len(swapped) - 1):
        if chance.random() < share:
            one, other = swapped[at], swapped[at + 1]
            swapped[at] = other._replace(time_ns=one.time_ns)
            swapped[at + 1] = one._replace(time_ns=other.time_ns)
    return swapped


def doubled(packets: Packets, chance: Random, share: float = 0.05) -> Packets:
    """Capture some packets twice."""
    return [packet for one in packets for packet in ([one, one] if chance.random() < share else [one])]


def clock_stepped(packets: Packets, chance: Random, by_ns: int) -> Packets:
    """Set the clock of the capture forward or back, once."""
    at = int(len(packets) * chance.uniform(0.2, 0.8))
    return packets[:at] + [one._replace(time_ns=one.time_ns + by_ns) for one in packets[at:]]


def without_bare_acks(packets: Packets) -> Packets:
    """Drop acknowledgements without data, as the filter `greater 80` does."""
    return [packet for packet in packets if _data_length(packet) or _flags(packet) & _RST_FIN_SYN]


def two_taps(packets: Packets, chance: Random) -> Packets:
    """Merge two taps of the same packets, whose clocks differ by less than a millisecond."""
    apart_ns = chance.randint(20_000, 900_000)
    return _merged(packets, [one._replace(time_ns=one.time_ns + apart_ns) for one in packets])


def both_sides_of_nat(packets: Packets, chance: Random) -> Packets:
    """Merge taps before and after a NAT: each connection twice, with other addresses of its client."""
    brokers, apart_ns = _brokers(packets), chance.randint(20_000, 300_000)
    return _merged(packets, [_translated(one, brokers, apart_ns) for one in packets])


def taps_far_apart(packets: Packets, chance: Random) -> Packets:
    """Merge two taps of the same packets, whose clocks differ by seconds."""
    apart_ns = chance.randint(7, 120) * _SECOND_NS
    return _merged(packets, [one._replace(time_ns=one.time_ns + apart_ns) for one in packets])


def coarse_times(packets: Packets, unit_ns: int) -> Packets:
    """Keep times in whole units, as tools do that convert captures."""
    return [one._replace(time_ns=one.time_ns // unit_ns * unit_ns) for one in packets]


def without_times(packets: Packets) -> Packets:
    """Give all packets one time, as tools do that read captures without times."""
    return [one._replace(time_ns=packets[0].time_ns) for one in packets]


def directions_apart(packets: Packets, chance: Random) -> Packets:
    """Set the clock of one direction off: each was captured by a card of its own, and both were merged."""
    brokers = _brokers(packets)
    apart_ns = chance.choice((-1, 1)) * chance.randint(5, 5_000) * 1_000_000
    return _merged(
        [one for one in packets if _ports(one)[1] not in brokers],
        [one._replace(time_ns=one.time_ns + apart_ns) for one in packets if _ports(one)[1] in brokers],
    )


def shuffled(packets: Packets, chance: Random) -> Packets:
    """Write packets of short stretches in any order; the times in the file still ascend."""
    found, size = [], chance.choice((3, 8, 30))
    for start in range(0, len(packets), size):
        stretch = packets[start : start + size]
        times = [one.time_ns for one in stretch]
        chance.shuffle(stretch)
        found += [one._replace(time_ns=time_ns) for one, time_ns in zip(stretch, times, strict=True)]
    return found


DAMAGES: dict[str, Damage] = {
    "few packets lost": lambda packets, chance: lost(packets, chance, chance.uniform(0.002, 0.02)),
    "many packets lost": lambda packets, chance: lost(packets, chance, chance.uniform(0.05, 0.3)),
    "runs of packets lost": bursts_lost,
    "begins in the middle": lambda packets, chance: begun_at(packets, chance.uniform(0.1, 0.8)),
    "ends in the middle": lambda packets, chance: ended_at(packets, chance.uniform(0.2, 0.9)),
    "requests alone": lambda packets, chance: one_direction(packets, to_broker=True),
    "responses alone": lambda packets, chance: one_direction(packets, to_broker=False),
    "one direction stops": direction_stops,
    "headers alone": lambda packets, chance: snapped(packets, chance.randint(64, 96)),
    "packets cut": lambda packets, chance: snapped(packets, chance.randint(110, 600)),
    "packets reordered": reordered,
    "packets doubled": doubled,
    "clock set forward": lambda packets, chance: clock_stepped(
        packets, chance, chance.randint(60, 86_400) * _SECOND_NS
    ),
    "clock set back": lambda packets, chance: clock_stepped(
        packets, chance, -chance.randint(1, 3_600) * _SECOND_NS
    ),
    "no bare acknowledgements": lambda packets, chance: without_bare_acks(packets),
    "two taps merged": two_taps,
    "both sides of a NAT merged": both_sides_of_nat,
    "two taps far apart merged": taps_far_apart,
    "whole seconds": lambda packets, _: coarse_times(packets, _SECOND_NS),
    "tenths of a second": lambda packets, _: coarse_times(packets, _SECOND_NS // 10),
    "no times": lambda packets, _: without_times(packets),
    "clocks of directions differ": directions_apart,
    "packets shuffled": shuffled,
}


def _merged(one: Packets, other: Packets) -> Packets:
    return sorted([*one, *other], key=lambda packet: packet.time_ns)


def _brokers(packets: Packets) -> set[int]:
    """Return the ports that clients connect to."""
    return {_ports(packet)[1] for packet in packets if _flags(packet) & (_SYN | _ACK) == _SYN}


def _tcp(packet: Packet) -> int:
    """Where TCP begins in a packet of Ethernet and IPv4."""
    return 14 + (packet.data[14] & 0x0F) * 4


def _ports(packet: Packet) -> tuple[int, int]:
    at = _tcp(packet)
    return int.from_bytes(packet.data[at : at + 2]), int.from_bytes(packet.data[at + 2 : at + 4])


def _flags(packet: Packet) -> int:
    return packet.data[_tcp(packet) + 13]


def _data_length(packet: Packet) -> int:
    at = _tcp(packet)
    return int.from_bytes(packet.data[16:18]) - (at - 14) - (packet.data[at + 12] >> 4) * 4


def _translated(packet: Packet, brokers: set[int], apart_ns: int) -> Packet:
    """Return a packet after the NAT: the client has the address 203.0.113.9 (RFC 5737) and another port."""
    source, target = _ports(packet)
    at, data = _tcp(packet), bytearray(packet.data)
    address, port_at, port = (30, at + 2, target) if source in brokers else (26, at, source)
    data[address : address + 4] = bytes((203, 0, 113, 9))
    data[port_at : port_at + 2] = (port ^ 0x2AAA).to_bytes(2)
    return packet._replace(data=bytes(data), time_ns=packet.time_ns + apart_ns)
