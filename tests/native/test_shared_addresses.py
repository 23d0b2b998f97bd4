"""A broker's address that leads to two clusters: both engines print the same."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdissect.capture.files import open_captures
from kdissect.cli import main
from tests.support.console import CAPTURES
from tests.support.packets.pcaps import write_pcap
from tests.support.python_side import PythonSide

CLUSTERS = (b"a2Rpc3NlY3QtY29ycHVzIQ", b"tansu_cluster")


def with_other_cluster(name: str, seed: int, path: Path) -> str:
    """Return a copy of a capture in which some responses name another cluster."""
    packets, chance = list(open_captures([CAPTURES / name]).packets()), Random(seed)

    def changed(data: bytes) -> bytes:
        if chance.random() < 0.5:
            for cluster in CLUSTERS:
                data = data.replace(cluster, b"Z" + cluster[1:])
        return data

    return write_pcap(path, [packet._replace(data=changed(packet.data)) for packet in packets])


def printed(command: str, path: str, out: str) -> bytes:
    assert main([command, path, "-o", out, "--format", "json"]) == 0
    return Path(out).read_bytes()


@pytest.mark.parametrize(
    ("command", "name", "seed"),
    [
        ("groups", "tansu_rdk216_txn.pcap", 5),
        ("topics", "kafka44_kafkajs_groups.pcapng", 4),
        ("producers", "kafka44_rdkafka_transactions.pcapng", 4),
    ],
)
def test_both_engines_count_by_the_same_clusters(
    command: str, name: str, seed: int, native: Any, python_side: PythonSide, tmp_path: Path
) -> None:
    path, out = with_other_cluster(name, seed, tmp_path / "shared.pcap"), str(tmp_path / "out")
    assert printed(command, path, out) == python_side.call(printed, command, path, out)
