"""Recorded captures: the streams that tshark's follow shows, and damaged captures against their original."""

import itertools
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.packets.packet import Packet
from kdissect.model.packets.segment import SYN, reverse_flow
from kdissect.model.packets.stream import CloseKind
from kdissect.net.parser import SegmentParser
from kdissect.net.streams.reassembly import Health
from kdissect.net.streams.tcp import TcpConnection
from tests.net.recorder import Recorder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # scapy meets deprecations of other packages while it is imported
    from scapy.utils import RawPcapReader

ORIGINAL = "dmg_tansu_rdk216_codecs_bigendian.pcap"  # damaged in the file's byte order only


class Followed:
    """One connection of a capture and what its sinks recorded."""

    def __init__(self) -> None:
        self.sinks = (Recorder(0), Recorder(1))
        self.connection = TcpConnection(self.sinks)


def packets(path: Path) -> Iterator[Packet]:
    with RawPcapReader(str(path)) as reader:
        for number, (data, meta) in enumerate(reader, 1):
            time_ns = meta.sec * 1_000_000_000 + meta.usec * (1 if reader.nano else 1000)
            yield Packet(number, time_ns, reader.linktype, data, meta.wirelen)


def follow(path: Path) -> list[Followed]:
    """Return all connections in the order of their first packet; direction 0 is who was seen first, as in
    tshark.
    """
    parser = SegmentParser()
    current: dict[bytes, tuple[Followed, int]] = {}
    found: list[Followed] = []
    for packet in packets(path):
        segment = parser.parse(packet)
        if segment is None:
            continue
        followed, side = current.get(segment.flow, (None, 0))
        if followed is None or (
            segment.flags & SYN and followed.connection.opens_new_incarnation(side, segment, packet.time_ns)
        ):
            followed, side = Followed(), 0
            found.append(followed)
            current[segment.flow] = followed, 0
            current[reverse_flow(segment.flow)] = followed, 1
        followed.connection.feed(side, segment, packet.ref, packet.time_ns)
    for followed in found:
        followed.connection.flush(CloseKind.CAPTURE_END, 0)
    assert parser.malformed == 0
    return found


def tshark_streams(path: Path, count: int) -> list[tuple[bytes, bytes]]:
    """Return both directions of each TCP stream, as tshark's raw follow prints them: the second is
    indented.
    """
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    taps = itertools.chain.from_iterable(("-z", f"follow,tcp,raw,{number}") for number in range(count))
    command = ["tshark", "-r", str(path), "-q", *taps]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    streams = {}
    for block in output.split("=" * 67 + "\n"):
        lines = block.splitlines()
        if len(lines) < 4 or not lines[0].startswith("Follow:"):
            continue
        number = int(lines[1].removeprefix("Filter: tcp.stream eq "))
        sides: tuple[list[str], list[str]] = ([], [])
        for line in lines[4:]:
            sides[line.startswith("\t")].append(line.strip())
        streams[number] = (bytes.fromhex("".join(sides[0])), bytes.fromhex("".join(sides[1])))
    return [streams[number] for number in range(count)]


# Not the reordered capture: tshark 4.0's follow drops 78 bytes of its last stream.
@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "name",
    [
        "tansu_rdk216_codecs.pcap",
        "tansu_rdk216_any_sll.pcap",
        "tansu_rdk216_nano.pcap",
        "tansu_rdk216_midstream.pcap",
        "mock_rdk216_groups.pcap",
        "dmg_tansu_rdk216_codecs_dup.pcap",
        "dmg_tansu_rdk216_codecs_seqwrap.pcap",
        "dmg_tansu_rdk216_codecs_vlan.pcap",
    ],
)
def test_streams_equal_those_of_tshark(reference: Path, name: str) -> None:
    path = reference / "captures" / name
    found = follow(path)
    expected = tshark_streams(path, len(found))
    for followed, streams in zip(found, expected, strict=True):
        ours = tuple(b"".join(run for run in sink.runs if isinstance(run, bytes)) for sink in followed.sinks)
        assert ours == streams
        assert all(isinstance(run, bytes) for sink in followed.sinks for run in sink.runs)


def contents(found: list[Followed]) -> list[tuple[object, ...]]:
    return [
        (
            each.sinks[0].runs,
            each.sinks[1].runs,
            each.sinks[0].ends,
            each.sinks[1].ends,
            each.connection.initiator,
        )
        for each in found
    ]


@pytest.mark.parametrize("damage", ["reorder", "dup", "vlan", "seqwrap"])
def test_repairable_damage_changes_nothing(reference: Path, damage: str) -> None:
    captures = reference / "captures"
    original = follow(captures / ORIGINAL)
    damaged = follow(captures / f"dmg_tansu_rdk216_codecs_{damage}.pcap")
    assert contents(damaged) == contents(original)
    anomalies = {kind for each in damaged for kind in each.connection.anomaly_counts}
    assert anomalies == ({AnomalyKind.DUPLICATE_CAPTURE} if damage == "dup" else set())
    before, after = total_health(original), total_health(damaged)
    injected = after.packets - before.packets
    assert (injected > 0) == (damage == "dup")
    # The duplicating damage also sends again the second half of some segments: those are no copies.
    assert after.duplicates + after.retransmissions == injected + before.retransmissions
    assert (after.bytes, after.zero_windows, after.resets) == (
        before.bytes,
        before.zero_windows,
        before.resets,
    )
    assert (after.out_of_order > 0) == (damage == "reorder")


def total_health(found: list[Followed]) -> Health:
    columns = zip(*(each for followed in found for each in followed.connection.health), strict=True)
    return Health(*map(sum, columns))


def test_loss_costs_only_the_lost_bytes(reference: Path) -> None:
    captures = reference / "captures"
    original = follow(captures / ORIGINAL)
    damaged = follow(captures / "dmg_tansu_rdk216_codecs_loss1.pcap")
    gaps = 0
    for whole, holed in zip(original, damaged, strict=True):
        for sink, other in zip(whole.sinks, holed.sinks, strict=True):
            gaps += _matches(b"".join(run for run in sink.runs if isinstance(run, bytes)), other.runs)
    assert gaps == 2  # packets are missing from the file


def _matches(stream: bytes, runs: list[bytes | int]) -> int:
    """Compare the bytes around the holes; how many holes there are."""
    at = 0
    for run in runs:
        if isinstance(run, bytes):
            assert stream[at : at + len(run)] == run
            at += len(run)
        else:
            at += run
    assert at == len(stream)
    return sum(isinstance(run, int) for run in runs)


def test_health_agrees_with_tshark(reference: Path) -> None:
    """tshark's expert flags on the same packets; its three kinds of retransmission are one here."""
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed")
    path = reference / "captures" / ORIGINAL
    fields = ("retransmission", "zero_window", "out_of_order", "lost_segment")
    taps = itertools.chain.from_iterable(("-e", f"tcp.analysis.{field}") for field in fields)
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=,", *taps, "-e", "tcp.flags.reset"]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    theirs = [sum(row.split(",")[column] in ("1", "True") for row in rows) for column in range(5)]
    ours = total_health(follow(path))
    assert [ours.retransmissions, ours.zero_windows, ours.out_of_order, ours.gaps, ours.resets] == theirs
    assert theirs[0] == 1
