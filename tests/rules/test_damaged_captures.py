"""A capture that lacks something shows no fault that the whole one does not show."""

import random
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest

from kdissect.capture.files import open_captures
from kdissect.model.finding import Severity
from kdissect.model.packets.packet import Packet
from kdissect.rules.judge import Judge
from tests.support.console import CAPTURES
from tests.support.run import events_of
from tests.support.verdicts import verdict_of

Packets = list[Packet]
# Small ones of many clients and APIs.
NAMES = (
    "kafka28_scala_consumer.pcapng", "kafka37_snapshot.pcapng.gz", "kafka39zk_franz_raw.pcapng",
    "kafka40_java_share.pcapng", "kafka44_aiokafka_admin.pcapng", "kafka44_aiokafka_transactions.pcapng",
    "kafka44_franz_sasl.pcapng", "kafka44_franz_transactions.pcapng", "kafka44_java_groups.pcapng",
    "kafka44_java_kip848.pcapng", "kafka44_java_produce.pcapng", "kafka44_java_telemetry.pcapng",
    "kafka44_kafkajs_groups.pcapng", "kafka44_kafkajs_transactions.pcapng", "kafka44_kp3_transactions.pcapng",
    "kafka44_rdkafka_transactions.pcapng", "kafka44_sarama_admin.pcapng",
    "kafka44_sarama_transactions.pcapng", "kafka44_segmentio_groups.pcapng", "tansu_kp3_groups.pcap",
)  # fmt: skip


def _lost(share: float) -> Callable[[Packets], Packets]:
    def lose(packets: Packets) -> Packets:
        chance = random.Random(share)
        return [packet for packet in packets if chance.random() >= share]

    return lose


def _from(share: float) -> Callable[[Packets], Packets]:
    return lambda packets: packets[int(len(packets) * share) :]


def _snapped(kept: int) -> Callable[[Packets], Packets]:
    return lambda packets: [packet._replace(data=packet.data[:kept]) for packet in packets]


def _reordered(packets: Packets) -> Packets:
    """Now and then a packet stands behind the next one, with the times as they are written down."""
    chance, swapped = random.Random(5), list(packets)
    for at in range(len(swapped) - 1):
        if chance.random() < 0.05:
            one, other = swapped[at], swapped[at + 1]
            swapped[at] = other._replace(time_ns=one.time_ns)
            swapped[at + 1] = one._replace(time_ns=other.time_ns)
    return swapped


def _doubled(packets: Packets) -> Packets:
    chance = random.Random(6)
    return [packet for one in packets for packet in ([one, one] if chance.random() < 0.05 else [one])]


def _one_way(packets: Packets, to_client: bool) -> Packets:
    """What a tap on one fibre sees; which direction is the client's shows the first packet, a SYN or not."""
    brokers = {_ends(packet)[1] for packet in packets if _is_opening(packet)}
    return [packet for packet in packets if (_ends(packet)[0] in brokers) is to_client]


def _is_opening(packet: Packet) -> bool:
    at = _tcp(packet)
    return len(packet.data) > at + 13 and packet.data[at + 13] & 0x12 == 0x02


def _ends(packet: Packet) -> tuple[bytes, bytes]:
    at = _tcp(packet)
    return packet.data[at : at + 2], packet.data[at + 2 : at + 4]


def _tcp(packet: Packet) -> int:
    """Where TCP begins in a packet of Ethernet and IPv4, as all of these are."""
    return 14 + (packet.data[14] & 0x0F) * 4


DAMAGES: dict[str, Callable[[Packets], Packets]] = {
    "loss of 1 %": _lost(0.01), "loss of 5 %": _lost(0.05), "loss of 20 %": _lost(0.2),
    "from 30 %": _from(0.3), "from 60 %": _from(0.6), "reordered": _reordered, "doubled": _doubled,
    "requests alone": lambda packets: _one_way(packets, to_client=False),
    "answers alone": lambda packets: _one_way(packets, to_client=True),
    "snap 96": _snapped(96), "snap 128": _snapped(128), "snap 200": _snapped(200), "snap 400": _snapped(400),
}  # fmt: skip


@cache
def packets_of(name: str) -> Packets:
    return list(open_captures([str(CAPTURES / name)]).packets())


def judged(packets: Packets, *, guards: bool = True) -> Judge:
    judge = Judge(guards=guards)
    for event in events_of(packets):
        judge.add(event)
    judge.finish()
    return judge


def loud(packets: Packets) -> set[str]:
    """Codes of errors and warnings."""
    return {found.code for found in judged(packets).findings.all() if found.severity is not Severity.INFO}


@cache
def loud_when_whole(name: str) -> set[str]:
    return loud(packets_of(name))


@pytest.mark.rotated(5)  # shares no factor with the number of damages: each day has all captures and damages
@pytest.mark.sampled(120)
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", NAMES)
def test_damage_adds_no_error_and_no_warning(name: str, damage: str) -> None:
    assert loud(DAMAGES[damage](packets_of(name))) <= loud_when_whole(name)


# Each fourth pair: every capture and every damage, in a quarter of the time.
PAIRS = list(product(NAMES, DAMAGES))[::4]


@pytest.mark.sampled(66)
@pytest.mark.parametrize(("name", "damage"), PAIRS)
def test_guards_leave_nothing_out(name: str, damage: str) -> None:
    """A judge that shows every rule everything comes to the same verdict."""
    packets = DAMAGES[damage](packets_of(name))
    assert verdict_of(judged(packets)) == verdict_of(judged(packets, guards=False))
