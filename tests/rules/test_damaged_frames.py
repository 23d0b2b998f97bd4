"""Frames with bytes changed at random: the judge raises nothing."""

import random
import zlib

import pytest
from crc32c import crc32c

from kdissect.api import Dissection
from kdissect.engine.records.record_sets import record_batches
from kdissect.model.frame import Frame
from kdissect.rules.judge import Judge
from kdissect.session.exchange import Exchange
from tests.support.console import CAPTURES
from tests.support.messages.frames import with_data

FLIPS = 3
PRODUCE, FETCH = 0, 1
BATCHES = ("kafka28zk_franz_early.pcapng", "kafka44_java_produce.pcapng", "kafka37_snapshot.pcapng.gz")
NAMES = ("tansu_kp3_groups.pcap", "tansu_rdk216_txn.pcap", "tansu_rdk216_share.pcap")


def damaged(frame: Frame | None, chance: random.Random) -> Frame | None:
    if frame is None:
        return None
    data = bytearray(frame.data)
    for _ in range(FLIPS):
        if data:
            data[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
    return with_data(frame, bytes(data))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_nothing_raises(name: str, seed: int) -> None:
    chance = random.Random(seed)
    judge = Judge()
    for exchange in Dissection(CAPTURES / name):
        exchange.request = damaged(exchange.request, chance)
        exchange.response = damaged(exchange.response, chance)
        judge.add(exchange)
    judge.finish()
    assert judge.findings.all()


def damage_batches(exchange: Exchange, chance: random.Random) -> None:
    """Change bytes inside of batches, and make their checksums right again: readers go all the way in."""
    side = "response" if exchange.api_key == FETCH else "request"
    for _, found in record_batches(exchange):
        for batch in found.batches:
            frame = getattr(exchange, side)
            data = bytearray(frame.data)
            for _ in range(FLIPS):
                place = chance.randrange(batch.start + 17, batch.end)
                data[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
            right, at = (crc32c(data[batch.start + 21 : batch.end]), 17) if batch.magic == 2 else (
                zlib.crc32(data[batch.start + 16 : batch.end]), 12,
            )  # fmt: skip
            data[batch.start + at : batch.start + at + 4] = right.to_bytes(4)
            setattr(exchange, side, with_data(frame, bytes(data)))
    exchange.batches_cache = None


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BATCHES)
def test_nothing_raises_inside_of_batches(name: str, seed: int) -> None:
    chance = random.Random(seed)
    judge = Judge()
    for exchange in Dissection(CAPTURES / name):
        if exchange.api_key in (PRODUCE, FETCH):
            damage_batches(exchange, chance)
        judge.add(exchange)
    judge.finish()
    codes = {finding.code for finding in judge.findings.all()}
    assert codes & {"REC005", "REC011", "REC012"}
    assert "REC004" not in codes
