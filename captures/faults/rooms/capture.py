"""Faults of the capture itself."""

import random
import struct

from captures.faults.fault import fault
from captures.faults.room import Room
from captures.record.scrub import blocks, one_block
from captures.record.spec import PLAIN

_ENHANCED = 6  # a block of a packet
_PORT_AT = 20 + 14 + 20  # in such a block, over Ethernet and IPv4 without options


def _poor(capture: bytes, variant: int) -> bytes:
    """Variant 2: one direction. Variant 3: packets lost at random."""
    chance = random.Random(variant)
    out = bytearray()
    for kind, body in blocks(capture):
        if kind == _ENHANCED and variant == 2 and _to_broker(body):
            continue
        if kind == _ENHANCED and variant == 3 and chance.random() < 0.35:
            continue
        out += one_block(kind, body)
    return bytes(out)


def _to_broker(body: bytes) -> bool:
    _, target = struct.unpack_from(">HH", body, _PORT_AT)
    return target % 10 == PLAIN and target < 32768


@fault("capture-too-poor", topics={"rows": "2:1"}, snaplen={1: 90}, mangle=_poor)
def capture_too_poor(room: Room) -> None:
    """Nothing is wrong with the traffic: the capture has cut packets, or one direction, or has lost many."""
    room.injects(
        room.among("packets are cut at 90 bytes", "only what brokers send", "every third packet is missing")
    )
    room.crowd()
    room.writes("loader", "rows", pace=150, keys=30)
    room.reads("view", "rows", "views", commit_each="true")
    room.lasts(room.among(12, 12, 12))
