"""Connections that say nothing for some batches, and speak again: the tables are those of one process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="needs the extra arrow")

from kdissect.model.packets.packet import Packet
from kdissect.pipeline.streaming.flows import settled_flows
from kdissect.pipeline.streaming.micro_batch import Batches
from tests.pipeline.streaming.arriving import arrive, assert_equal, packets_of
from tests.pipeline.streaming.drive import Stream, settings_of

NAMES = (
    "kafka44_sarama_transactions.pcapng",
    "kafka44_java_kip848.pcapng",
    "kafka44_java_share.pcapng",
)
FILES = 12
# Two minutes for each file: connections are silent for some of them, and not for half an hour.
_FILE_NS = 120 * 10**9


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several leaves and groups, though connections are few."""
    monkeypatch.setattr(settled_flows, "LEAF_FLOWS", 2)
    monkeypatch.setattr(settled_flows, "GROUP_FLOWS", 3)
    monkeypatch.setattr(settled_flows, "_SPARE_LEAVES", 1)


def slowly(packets: Sequence[Packet], files: int = FILES) -> list[list[Packet]]:
    """Return the packets as files, each of two minutes: all with the same share of them."""
    share = -(-len(packets) // files)
    first_ns = packets[0].time_ns
    found: list[list[Packet]] = []
    for number in range(files):
        part = packets[number * share : (number + 1) * share]
        step = _FILE_NS // (len(part) + 1)
        start = first_ns + number * _FILE_NS
        found.append([packet._replace(time_ns=start + at * step) for at, packet in enumerate(part)])
    return [part for part in found if part]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NAMES)
def test_connections_that_are_silent_for_a_while(name: str, tmp_path: Path) -> None:
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    settled = 0
    for number, packets in enumerate(slowly(packets_of(name))):
        arrive(tmp_path / "in", number, packets)
        stream.step()
        settled += sum(len(group.leaves) for report in stream.reports for group in report.settled)
        if number % 4 == 3:
            assert_equal(tmp_path / "tables", [tmp_path / "in"])
    assert settled > 3, "nothing was silent"


@pytest.mark.exhaustive
def test_with_a_backlog_in_between(tmp_path: Path) -> None:
    """Batches that have not caught up leave what is silent where it is."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in", max_files=2))
    for number, packets in enumerate(slowly(packets_of(NAMES[0]))):
        arrive(tmp_path / "in", number, packets)
        if number % 3 == 2:
            stream.catch_up()
            assert_equal(tmp_path / "tables", [tmp_path / "in"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", ["a", "b"])
def test_two_taps_of_silent_connections(first: str, tmp_path: Path) -> None:
    """Which connection counts changes while they are silent."""
    packets = packets_of(NAMES[0])
    later = [packet._replace(time_ns=packet.time_ns + 1_000_000) for packet in packets]
    folders = {"a": tmp_path / "a", "b": tmp_path / "b"}
    stream = Stream(settings_of(tmp_path, *folders.values()))
    parts = {"a": slowly(packets, 8), "b": slowly(later, 8)}
    second = "b" if first == "a" else "a"
    for number in range(8):
        arrive(folders[first], number, parts[first][number], f"{first}_trace")
        if number >= 3:
            stream.catch_up()
            arrive(folders[second], number - 3, parts[second][number - 3], f"{second}_trace")
        stream.catch_up()
        if number in (3, 5):
            assert_equal(tmp_path / "tables", [folder for folder in folders.values() if folder.exists()])
    for number in range(5, 8):
        arrive(folders[second], number, parts[second][number], f"{second}_trace")
        stream.catch_up()
    assert_equal(tmp_path / "tables", list(folders.values()))


@pytest.mark.exhaustive
def test_each_batch_is_repeated(tmp_path: Path) -> None:
    """A repeated batch finds the files of the one before, and replaces the same parts."""
    stream = Stream(settings_of(tmp_path, tmp_path / "in"))
    for number, packets in enumerate(slowly(packets_of(NAMES[0]))):
        arrive(tmp_path / "in", number, packets)
        stores, offset = copy.deepcopy(stream.stores), stream.offset
        assert stream.step() is not None
        stream.stores, stream.offset = stores, offset
        stream.batches = Batches(stream.settings, stream.directory)
        assert stream.step() is not None
        if number % 4 == 3:
            assert_equal(tmp_path / "tables", [tmp_path / "in"])
