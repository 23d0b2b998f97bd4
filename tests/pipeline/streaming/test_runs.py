"""Runs of segments: what is packed comes back, and runs that overlap are merged."""

from __future__ import annotations

import random

from kdissect.pipeline.streaming.flow_shuffle.run import Run, flow_key, merged, pack, unpack


def test_segments_come_back_as_they_were() -> None:
    flow = bytes((10, 0, 0, 2, 10, 0, 0, 1)) + (50000).to_bytes(2) + (9092).to_bytes(2)
    key, direction = flow_key(flow)
    segment = flow, (1 << 32) - 1, 7, 0x18, 500, b"payload", 3, -1
    assert unpack(key, pack(11, 12, 13, direction, segment)) == [(11, 12, segment, 13)]


def test_runs_of_overlapping_files_are_merged() -> None:
    dice = random.Random(1)
    flow = bytes(8) + bytes((1, 2, 3, 4))
    key, direction = flow_key(flow)
    runs = []
    for file in range(3):
        order = 0
        for number in range(20):
            data = b""
            first = None
            for index in range(dice.randrange(1, 6)):
                order += dice.randrange(5)
                place = order, (file << 40) + number * 10 + index
                first = first or place
                data += pack(*place, order, direction, (flow, 0, 0, 16, 1, b"x", 0, 0))
            assert first is not None
            runs.append(Run(0, key, *first, data))
    runs.sort(key=lambda run: (run.key, run.order_ns, run.ref))
    places = [placed[:2] for placed in merged(iter(runs))]
    assert places == sorted(placed[:2] for run in runs for placed in unpack(key, run.data))
