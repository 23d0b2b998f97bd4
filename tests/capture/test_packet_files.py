"""Files of packets that are complete or absent: read back by our reader, and by tshark where there is one."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kdissect.capture.files import open_captures
from kdissect.capture.formats.packet_file import PacketFile, Written
from kdissect.capture.whole_file import WholeFile, is_special
from kdissect.model.packets.commented import without_comments
from kdissect.model.packets.link_types import LinkType
from kdissect.model.packets.packet import Packet, packet_ref

TIME_NS = 1_700_000_000_123_456_789
PACKETS = [
    Packet(packet_ref(0, 1), TIME_NS, 1, b"e" * 60, 60),
    Packet(packet_ref(0, 2), TIME_NS + 1, 101, b"\x45" + b"r" * 39, 1500),  # cut by a snap length
    Packet(packet_ref(0, 3), TIME_NS + 2, 1, b"e" * 61, 61),
]


def write(path: Path) -> Path:
    with PacketFile(str(path), comment="what this is") as file:
        for number, packet in enumerate(PACKETS):
            file.write(packet, f"packet {number}" if number else "")
    return path


def test_packets_come_back(tmp_path: Path) -> None:
    captures = open_captures([write(tmp_path / "a.pcapng")])
    read = list(captures.packets())
    bare = [without_comments(packet.link_type, packet.data) for packet in read]
    assert [
        packet._replace(link_type=link_type, data=data)
        for packet, (link_type, data) in zip(read, bare, strict=True)
    ] == PACKETS
    assert captures.files[0].link_types == [1, 101]
    assert not captures.errors


def test_tshark_reads_comments_times_and_lengths(tmp_path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed")
    fields = ("frame.comment", "frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_id")
    command = [tshark, "-r", str(write(tmp_path / "a.pcapng")), "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [row.split("\t") for row in rows] == [
        ["", "1700000000.123456789", "60", "60", "0"],
        ["packet 1", "1700000000.123456790", "1500", "40", "1"],
        ["packet 2", "1700000000.123456791", "61", "61", "0"],
    ]


def test_packets_of_some_times_are_copied(tmp_path: Path) -> None:
    """Blocks, as the compiled engine writes them, and packets one by one: one file."""
    numbers = {LinkType.ETHERNET: 40, LinkType.RAW: 5}
    plain = [
        Packet(packet_ref(0, number), TIME_NS + number, link_type, bytes([number]) * size, size + number % 3)
        for link_type, most in numbers.items()
        for number, size in enumerate(range(60, 60 + most))
    ]
    with PacketFile(str(tmp_path / "a.pcapng")) as file:
        for number, packet in enumerate(plain):
            file.write(packet, "noted" if number == 7 else "")
    spans = [(TIME_NS + 2, TIME_NS + 9), (TIME_NS + 20, TIME_NS + 21)]
    wanted = [one for one in plain if any(begin <= one.time_ns <= end for begin, end in spans)]
    for name, is_whole in (("blocks", True), ("packets", False)):
        written = Written()
        with PacketFile(str(tmp_path / name)) as file:
            for batch in open_captures([tmp_path / "a.pcapng"]).batches():
                written = written.and_then(file.write_within(batch if is_whole else list(batch), spans))
        assert written == (len(wanted), sum(len(one.data) for one in wanted), TIME_NS + 2, TIME_NS + 21)
    copied = (tmp_path / "blocks").read_bytes()
    assert copied == (tmp_path / "packets").read_bytes()
    assert copied.count(b"noted") == 1
    read = [
        without_comments(one.link_type, one.data)[1] for one in open_captures([tmp_path / "blocks"]).packets()
    ]
    assert read == [one.data for one in wanted]


def test_times_before_1970_are_copied(tmp_path: Path) -> None:
    early = [one._replace(time_ns=-5 - number) for number, one in enumerate(PACKETS)]
    with PacketFile(str(tmp_path / "a.pcapng")) as file:
        for packet in early:
            file.write(packet)
    with PacketFile(str(tmp_path / "b.pcapng")) as file:
        found = [
            file.write_within(batch, [(-6, 0)]) for batch in open_captures([tmp_path / "a.pcapng"]).batches()
        ]
    assert sum(one.packets for one in found) == 2
    assert [one.time_ns for one in open_captures([tmp_path / "b.pcapng"]).packets()] == [-5, -6]


def test_a_comment_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    path = tmp_path / "long.pcapng"
    with PacketFile(str(path), comment="ä" * 70_000) as file:  # 140 000 bytes, an option holds 65 535
        file.write(PACKETS[0])
    assert list(open_captures([path]).packets()) == PACKETS[:1]
    assert path.stat().st_size < 70_000


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError), PacketFile(str(path)) as file:
        file.write(PACKETS[0])
        raise RuntimeError
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_there_until_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with WholeFile(str(path)) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"before")
    link.symlink_to(target)
    with WholeFile(str(link)) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"


def test_what_is_no_file_is_written_directly(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with ThreadPoolExecutor(1) as threads:
        read = threads.submit(fifo.read_bytes)
        with WholeFile(str(fifo)) as file:
            file.write(b"there")
        assert read.result() == b"there"
    assert fifo.is_fifo()


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/null", "/dev/../dev/stdout", "/proc/self/fd/1"])
def test_devices_are_never_replaced(path: str) -> None:
    assert is_special(path)  # asked, not tried: as root a mistake would take the device away


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), PacketFile(str(tmp_path / "none" / "a.pcapng")):
        pass
