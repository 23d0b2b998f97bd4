"""A capture that lacks something shows no fault that the whole one does not show."""

import random
from collections.abc import Callable
from functools import cache
from itertools import product

import pytest

from captures.faults.damage import (
    Packets,
    begun_at,
    doubled,
    lost,
    one_direction,
    reordered,
    snapped,
)
from kdissect.capture.files import open_captures
from kdissect.model.finding import Severity
from kdissect.rules.judge import Judge
from tests.support.console import CAPTURES
from tests.support.run import events_of
from tests.support.verdicts import verdict_of

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

DAMAGES: dict[str, Callable[[Packets], Packets]] = {
    "loss of 1 %": lambda packets: lost(packets, random.Random(0.01), 0.01),
    "loss of 5 %": lambda packets: lost(packets, random.Random(0.05), 0.05),
    "loss of 20 %": lambda packets: lost(packets, random.Random(0.2), 0.2),
    "from 30 %": lambda packets: begun_at(packets, 0.3), "from 60 %": lambda packets: begun_at(packets, 0.6),
    "reordered": lambda packets: reordered(packets, random.Random(5)),
    "doubled": lambda packets: doubled(packets, random.Random(6)),
    "requests alone": lambda packets: one_direction(packets, to_broker=True),
    "answers alone": lambda packets: one_direction(packets, to_broker=False),
    "snap 96": lambda packets: snapped(packets, 96), "snap 128": lambda packets: snapped(packets, 128),
    "snap 200": lambda packets: snapped(packets, 200), "snap 400": lambda packets: snapped(packets, 400),
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
    """Return codes of errors and warnings."""
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
