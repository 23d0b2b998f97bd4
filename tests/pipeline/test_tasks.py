"""The functions of the tasks give what one process gives, row by row, whatever the number of partitions."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kdissect.pipeline.flow_shuffle.run import Run, flow_key, merged, pack, unpack
from tests.pipeline.conftest import CHECKOUT
from tests.pipeline.single import by_one_process, by_tasks

CAPTURES = CHECKOUT / "captures"


def test_rotated_files_with_reordering_and_loss_give_the_same_rows(rotated: Path) -> None:
    one = by_one_process([rotated])
    assert by_tasks([rotated], 4) == one
    assert any(row["gaps"] for row in one.connections.values())
    borders = [row for row in one.exchanges.values() if _crosses(row)]
    assert borders, "no exchange crosses a file's end: the set tests nothing"


def test_secrets_of_a_key_log_reach_the_tasks() -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    path, keys = CAPTURES / "kafka44_java_tls13.pcapng", [str(CAPTURES / "kafka44_java_tls13.keys")]
    found = by_tasks([path], 2, keys)
    assert found == by_one_process([path], keys)
    assert found.exchanges


def test_capture_points_stay_apart(rotated: Path, tmp_path: Path) -> None:
    first, *_ = sorted(rotated.iterdir())
    for host in ("host_a", "host_b"):
        (tmp_path / host).mkdir()
        (tmp_path / host / "trace.pcap").write_bytes(first.read_bytes())
    paths = [tmp_path / "host_a", tmp_path / "host_b"]
    found = by_tasks(paths, 2)
    assert found == by_one_process(paths)
    assert {row["capture_set"] for row in found.connections.values()} == {"host_a/trace", "host_b/trace"}


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


def _crosses(row: dict[str, object]) -> bool:
    sides = (row["request"], row["response"])
    return any(isinstance(side, dict) and "last_file" in side["packets"] for side in sides)
