"""Frames with bytes changed at random: the judge raises nothing."""

import random

import pytest

from kdissect.api import Dissection
from kdissect.model.frame import Frame
from kdissect.rules.judge import Judge
from tests.support.console import CAPTURES

FLIPS = 3
NAMES = ("tansu_kp3_groups.pcap", "tansu_rdk216_txn.pcap", "tansu_rdk216_share.pcap")


def damaged(frame: Frame, chance: random.Random) -> None:
    data = bytearray(frame.data)
    for _ in range(FLIPS):
        if data:
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    frame.data = bytes(data)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_nothing_raises(name: str, seed: int) -> None:
    chance = random.Random(seed)
    judge = Judge()
    for exchange in Dissection(CAPTURES / name):
        for frame in (exchange.request, exchange.response):
            if frame is not None:
                damaged(frame, chance)
        judge.add(exchange)
    judge.finish()
    assert judge.findings.all()
