"""Every table of a run equals that of one process, row by row; here without Spark, which sorts in between."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from tests.pipeline.conftest import BENCHMARKS, CHECKOUT
from tests.pipeline.parquet import compare, of_one_process, of_run
from tests.support.packets.broken_frames import every_broken_frame
from tests.support.packets.nat import INSIDE, OUTSIDE, nat_side
from tests.support.packets.pcaps import write_pcap
from tests.support.packets.taps import tap

CAPTURES = CHECKOUT / "captures"
TAPS = CHECKOUT / "tests" / "engine" / "taps" / "captures"
NAMES = (
    "kafka44_connect_plain.pcapng",
    "kafka44_connect_tls.pcapng",
    "kafka44_java_errors.pcapng",
    "kafka28_java_generations_late.pcapng.gz",
    "mock_rdk216_txn.pcap",
    "kafka44_java_share.pcapng",
    "kafka44_java_kip848.pcapng",
    "kafka37_snapshot.pcapng.gz",
    "kafka44_kp3_transactions.pcapng",
    "kafka44_haproxy.pcapng",
    "kafka44_mirror.pcapng.gz",
    "kafka44_misrouted.pcapng",
    "kafka44_nat.pcapng",
    "kafka44_recreated.pcapng.gz",
    "kafka44_offset_resets.pcapng",
    "kafka44_two_clusters.pcapng",
)


def test_stalls_of_brokers(tmp_path: Path) -> None:
    capture = CAPTURES / "faults" / "recorded" / "duplicate-writes-1.pcapng.gz"
    compare([capture], tmp_path / "tables", tables={"stalls"})
    assert len(of_run(tmp_path / "tables", "stalls")) == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_captures(name: str, tmp_path: Path) -> None:
    compare([CAPTURES / name], tmp_path / "tables")


def test_brokers_that_other_connections_prove(tmp_path: Path) -> None:
    """The task that has a broken connection does not have the one that proves its broker."""
    path = Path(write_pcap(tmp_path / "a.pcap", every_broken_frame()))
    compare([path], tmp_path / "tables")
    kinds = [row["kind"] for row in of_run(tmp_path / "tables", "connections")]
    assert kinds == ["kafka"] * len(kinds)


@pytest.mark.exhaustive
def test_encrypted_captures_with_their_keys(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    keys = [str(CAPTURES / "kafka44_java_tls13.keys")]
    summary = compare([CAPTURES / "kafka44_java_tls13.pcapng"], tmp_path / "tables", keys)
    assert summary.tables["exchanges"][1] > 0


@pytest.mark.exhaustive
def test_rotated_files_of_the_reference_material(reference: Path, tmp_path: Path) -> None:
    files = sorted((reference / "captures").glob("tansu_rdk216_rotated.pcap*"))
    if not files:
        pytest.skip("no rotated captures in the reference material")
    assert compare(files, tmp_path / "tables").tables["exchanges"][1] > 300


@pytest.mark.exhaustive
def test_rotated_files_with_reordering_and_loss(rotated: Path, tmp_path: Path) -> None:
    compare([rotated], tmp_path / "tables")


@pytest.mark.exhaustive
def test_one_connection_with_nine_tenths_of_the_bytes(tmp_path: Path) -> None:
    for name, size, connections in (("skew.pcap", "3MB", "1"), ("skew.pcap1", "300kB", "12")):
        options = [
            "--size",
            size,
            "--connections",
            connections,
            "--seed",
            connections,
            "-o",
            str(tmp_path / name),
        ]
        run_it = [sys.executable, str(BENCHMARKS / "generate.py"), *options]
        subprocess.run(run_it, check=True, capture_output=True)
    files = [tmp_path / "skew.pcap", tmp_path / "skew.pcap1"]
    compare(files, tmp_path / "tables")
    rows = of_run(tmp_path / "tables", "connections")
    sizes = sorted(row["client_bytes"] + row["broker_bytes"] for row in rows)
    assert sizes[-1] > 0.8 * sum(sizes), "the set is not skewed: the test tests nothing"


COUNTED = (
    "findings", "latencies", "rates", "topics", "groups", "producers", "transactions", "causes", "stalls",
    "coverage",
)  # fmt: skip


@pytest.mark.exhaustive
def test_two_capture_points_that_saw_the_same(tmp_path: Path) -> None:
    """Rows of both, marked; what is counted is what one of them alone gives."""
    for name in ("mock_rdk216_txn.pcap", "kafka44_java_errors.pcapng"):
        tap(CAPTURES / name, tmp_path / "host_a" / f"{name}.pcap")
        lossy = tmp_path / "host_b" / f"{name}.pcap"
        tap(CAPTURES / name, lossy, 700_000_000, lambda number: number % 50 != 7)
    compare([tmp_path / "host_a", tmp_path / "host_b"], tmp_path / "tables")
    exchanges = of_run(tmp_path / "tables", "exchanges")
    of_b = [row for row in exchanges if row["capture_set"].startswith("host_b/")]
    assert {row["same_as"] for row in exchanges if row not in of_b} == {None}
    connections = {row["connection"]: row for row in of_run(tmp_path / "tables", "connections")}
    assert len(of_b) > 300
    for row in of_b:
        assert connections[row["same_as"]]["client"] == row["client"]
    for path in (tmp_path / "host_b").iterdir():  # sets keep their names, but one has nothing
        path.write_bytes(path.read_bytes()[:24])
    alone = of_one_process([tmp_path / "host_a", tmp_path / "host_b"])
    for table in COUNTED:
        assert of_run(tmp_path / "tables", table) == alone[table], table


@pytest.mark.exhaustive
@pytest.mark.parametrize("taps", [1, 2])
def test_both_sides_of_a_nat_in_captures_of_their_own(taps: int, tmp_path: Path) -> None:
    paths = [
        nat_side(host, tmp_path / f"{number}" / f"{host}.pcap", 700 * number)
        for number in range(taps)
        for host in (OUTSIDE, INSIDE)
    ]
    compare(paths, tmp_path / "tables")
    rows = of_run(tmp_path / "tables", "exchanges")
    assert len(rows) == 56 * taps
    assert sum(row["same_as"] is None for row in rows) == 28


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "parts", "copies", "probable"),
    [
        ("tap_and_packets", ("client", "broker", "packets"), 12, 4),
        ("two_brokers", ("broker1", "broker2"), 6, 0),
    ],
)
def test_taps_and_packets_count_once(
    name: str, parts: tuple[str, ...], copies: int, probable: int, tmp_path: Path
) -> None:
    """Captures of `kdissect tap` have sequence numbers of their own; bytes prove their connections."""
    paths = [TAPS / f"{name}.{part}.pcapng.gz" for part in parts]
    compare(paths, tmp_path / "tables")
    connections = of_run(tmp_path / "tables", "connections")
    found = sum(row["same_as"] is not None for row in connections)
    assert found == copies
    assert sum(row["probably_same_as"] is not None for row in connections) == probable
    counted = Counter(
        (row["client"], row["broker"], row["correlation_id"], row["api_key"])
        for row in of_run(tmp_path / "tables", "exchanges")
        if row["same_as"] is None and row["api_key"] is not None
    )
    assert len(counted) > 40 and set(counted.values()) == {1}


@pytest.mark.exhaustive
def test_traffic_tapped_twice_into_one_set_is_counted_once(tmp_path: Path) -> None:
    capture = CAPTURES / "mock_rdk216_txn.pcap"
    once = len(of_one_process([capture])["exchanges"])
    for name in ("tap.pcap", "tap.pcap1"):
        (tmp_path / name).write_bytes(capture.read_bytes())
    summary = compare([tmp_path / "tap.pcap", tmp_path / "tap.pcap1"], tmp_path / "tables")
    assert summary.tables["exchanges"][1] == once
    rows = of_run(tmp_path / "tables", "connections")
    assert sum(row["duplicates"] for row in rows) > 0
