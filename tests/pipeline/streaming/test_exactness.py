"""File by file, the tables of a stream equal those of one process, row by row; here without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.capture.key_logs import KeyLogs
from kdissect.pipeline.streaming.flows import shard
from tests.pipeline.parquet import of_stream
from tests.pipeline.streaming.arriving import CAPTURES, arrive, assert_equal, cut, packets_of, packets_of_file
from tests.pipeline.streaming.drive import Stream, settings_of
from tests.support.packets.nat import INSIDE, OUTSIDE, nat_side
from tests.support.packets.rewritten import (
    change_bodies,
    connections_of,
    follow_without_ids,
    forget_clusters,
    write,
)

NAMES = (
    "kafka44_connect_plain.pcapng",
    "kafka44_connect_tls.pcapng",
    "mock_rdk216_txn.pcap",
    "tansu_kp202_admin.pcap",
    "kafka44_java_errors.pcapng",
    "kafka44_java_kip848.pcapng",
    "kafka44_kp3_transactions.pcapng",
    "kafka44_java_share.pcapng",
    "kafka44_haproxy.pcapng",
    "kafka44_mirror.pcapng.gz",
    "kafka44_misrouted.pcapng",
    "kafka44_offset_resets.pcapng",
    "kafka44_recreated.pcapng.gz",
    "kafka44_two_clusters.pcapng",
)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_file_by_file(name: str, tmp_path: Path) -> None:
    """Connections, frames and histories cross every border; the tables are right after each file."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, packets in enumerate(cut(packets_of(name), 4)):
        arrive(tmp_path / "in", number, packets)
        assert len(stream.catch_up()) == 1
        if number in (1, 3):
            assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("at_one_address", [False, True])
def test_clusters_that_no_response_names(at_one_address: bool, tmp_path: Path) -> None:
    connections = connections_of(CAPTURES / "kafka44_two_clusters.pcapng")
    if at_one_address:
        follow_without_ids(connections, 26012, 26062)
    else:
        change_bodies(connections, forget_clusters)
    packets = packets_of_file(write(connections, tmp_path / "two.pcap"))
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, part in enumerate(cut(packets, 4)):
        arrive(tmp_path / "in", number, part)
        stream.catch_up()
        assert_equal(tmp_path / "tables", [tmp_path / "in"])
    assert len({row["cluster"] for row in of_stream(tmp_path / "tables", "groups")}) == 2


@pytest.mark.exhaustive
def test_both_sides_of_a_nat_count_once(tmp_path: Path) -> None:
    """No task of a flow sees the other side: who reads a file knows what a NAT translated.

    The third connection begins on both sides in the first file, and goes on in the second.
    """
    packets = sorted(packets_of("kafka44_nat.pcapng"), key=lambda packet: packet.time_ns)
    border = 2 + [packet.data[34:36] for packet in packets].index((33_872).to_bytes(2))
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    arrive(tmp_path / "in", 0, packets[:border])
    arrive(tmp_path / "in", 1, packets[border:])
    stream.catch_up()
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
    assert sum(row["same_as"] is None for row in of_stream(tmp_path / "tables", "exchanges")) == 28


@pytest.mark.exhaustive
@pytest.mark.parametrize("together", [False, True])
def test_sides_of_a_nat_whose_syns_are_in_two_files(together: bool, tmp_path: Path) -> None:
    """A rotation between the SYN of one side and that of the other one; in one batch, and in two."""
    packets = sorted(packets_of("kafka44_nat.pcapng"), key=lambda packet: packet.time_ns)
    syns = [number for number, packet in enumerate(packets) if packet.data[47] == 0x02]
    border = syns[5]
    assert packets[border - 1].data[38:42] == packets[border].data[38:42], "the first sequence numbers"
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    arrive(tmp_path / "in", 0, packets[:border])
    if not together:
        stream.catch_up()
    arrive(tmp_path / "in", 1, packets[border:])
    stream.catch_up()
    assert_equal(tmp_path / "tables", [tmp_path / "in"])
    assert sum(row["same_as"] is None for row in of_stream(tmp_path / "tables", "exchanges")) == 28


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", [(INSIDE, OUTSIDE), (OUTSIDE, INSIDE)])
def test_sides_of_a_nat_in_two_capture_sets_count_once(order: tuple[str, str], tmp_path: Path) -> None:
    """The side that is first in time counts, also if it was read last: rows are amended, counts repeated."""
    stream = Stream(settings_of(tmp_path, *(tmp_path / host for host in order)))
    for host in order:
        nat_side(host, tmp_path / host / f"{host}.pcap")
        stream.catch_up()
    assert_equal(tmp_path / "tables", [tmp_path / host for host in sorted(order)])
    assert sum(row["same_as"] is None for row in of_stream(tmp_path / "tables", "exchanges")) == 28


@pytest.mark.exhaustive
def test_sides_of_a_nat_whose_files_alternate(tmp_path: Path) -> None:
    """Three hosts with three files each; the clock of the third, which also has the outside, is 3 s ahead."""
    hosts = {
        host: cut(packets_of_file(nat_side(client, tmp_path / "whole" / f"{host}.pcap", shift_ns)), 3)
        for host, client, shift_ns in (
            ("outside", OUTSIDE, 0),
            ("inside", INSIDE, 0),
            ("tap", OUTSIDE, 3_000_000_000),
        )
    }
    folders = [tmp_path / host for host in hosts]
    stream = Stream(settings_of(tmp_path, *folders, shards=3))
    for number in range(3):
        for host, files in hosts.items():
            arrive(tmp_path / host, number, files[number], host)
            stream.catch_up()
        assert_equal(tmp_path / "tables", folders)


@pytest.mark.exhaustive
def test_batches_of_any_size_give_the_same(
    rotated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 files with reordering and loss, in batches of three. All of them last less than a second."""
    monkeypatch.setattr(shard, "REORDER_NS", 5_000_000)
    stream = Stream(settings_of(tmp_path, rotated, max_files=3, shards=3))
    done = stream.catch_up()
    assert len(done) == 7
    assert sum(batch.segments for batch in done) > 1000, "nothing was analysed before the end"
    assert_equal(tmp_path / "tables", [rotated])


@pytest.mark.exhaustive
@pytest.mark.parametrize("swapped", [1, 7, 40])
def test_packets_out_of_order_across_a_border(swapped: int, tmp_path: Path) -> None:
    """What was captured last before a rotation is in the next file, and the other way round."""
    first, second = cut(packets_of("mock_rdk216_txn.pcap"), 2)
    first[-swapped:], second[:swapped] = second[:swapped], first[-swapped:]
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, packets in enumerate((first, second)):
        arrive(tmp_path / "in", number, packets)
        stream.catch_up()
        assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
def test_files_that_overlap_by_less_than_a_second(tmp_path: Path) -> None:
    packets = packets_of("mock_rdk216_txn.pcap")
    middle = packets[len(packets) // 2].time_ns
    first = [p for p in packets if p.time_ns < middle - 400_000_000 or (p.ref % 2 and p.time_ns < middle)]
    names = {p.ref for p in first}
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, part in enumerate((first, [p for p in packets if p.ref not in names])):
        arrive(tmp_path / "in", number, part)
        stream.catch_up()
    assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
def test_encrypted_connections_across_files(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="needs the extra tls")
    keys = str(CAPTURES / "kafka44_java_tls13.keys")
    settings = settings_of(tmp_path, tmp_path / "in", key_logs=tuple(KeyLogs((keys,)).files))
    stream = Stream(settings)
    for number, packets in enumerate(cut(packets_of("kafka44_java_tls13.pcapng"), 3)):
        arrive(tmp_path / "in", number, packets)
        stream.catch_up()
    assert_equal(tmp_path / "tables", [tmp_path / "in"], [keys])
    assert of_stream(tmp_path / "tables", "exchanges")


@pytest.mark.exhaustive
def test_a_clock_that_jumps_within_a_file(tmp_path: Path) -> None:
    """One packet of the next century, and an hour back later on: what is behind them waits for its place."""
    parts = cut(packets_of("mock_rdk216_txn.pcap"), 3)
    parts[0][20] = parts[0][20]._replace(time_ns=parts[0][20].time_ns + 10**18)
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, packets in enumerate(parts):
        arrive(tmp_path / "in", number, packets)
        stream.catch_up()
        assert_equal(tmp_path / "tables", [tmp_path / "in"])
