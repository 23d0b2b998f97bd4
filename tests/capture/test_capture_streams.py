"""Captures read from a pipe while they are still being written."""

import io
import os
import subprocess
import sys
from pathlib import Path

from kdissect.capture.files import open_captures
from tests.capture.capture_samples import pcap_header, pcap_packet, pieces, sample_pcap, sample_pcapng

READER = """
import sys
from kdissect.capture.files import open_captures
captures = open_captures(["-"])
for packet in captures.packets():
    print(packet.ref, len(packet.data), flush=True)
(file,) = captures.files
print("end", file.packets, captures.errors, [a.kind.value for a in file.anomalies], flush=True)
"""


def reader() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", READER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
    )


def test_every_packet_comes_out_before_the_next_is_written() -> None:
    """The reader answers each packet before it gets more: waiting for a full buffer would hang here."""
    with reader() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(pcap_header())
        for number in range(1, 6):
            content = pcap_packet(number, bytes(100 * number))
            process.stdin.write(content[:50])
            process.stdin.write(content[50:])
            assert process.stdout.readline() == b"%d %d\n" % (number, 100 * number)
        process.stdin.write(pcap_packet(9, bytes(60))[:40])
        process.stdin.close()
        assert process.stdout.readline() == b"end 5 [] ['cut_capture']\n"


def test_standard_input_that_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.pcapng"
    path.write_bytes(sample_pcapng(range(1000)))
    with path.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-c", READER],
            stdin=stdin, capture_output=True, check=True,
        )  # fmt: skip
    assert done.stdout.splitlines()[-1] == b"end 1000 [] []"


class OneByte:
    """A stream that gives one byte per read, as a slow writer may."""

    def __init__(self, content: bytes) -> None:
        self._bytes = pieces(content, 1)
        self.reads = 0

    def read(self, _size: int) -> bytes:
        self.reads += 1
        return next(self._bytes, b"")


def test_stream_of_single_bytes() -> None:
    for content in (sample_pcap(), sample_pcapng()):
        stream = OneByte(content)
        captures = open_captures(["-"], stdin=stream)  # type: ignore[arg-type]
        reads = [stream.reads for _ in captures.packets()]
        assert len(reads) == 5
        assert reads[-1] == len(content)
        assert captures.errors == []
        assert captures.bytes_read == len(content)


def test_buffered_stream_is_not_filled_before_packets_come_out() -> None:
    class Buffered(io.BytesIO):
        def read(self, _size: int | None = -1) -> bytes:
            raise AssertionError("read() of a buffered pipe waits until the buffer is full")

    captures = open_captures(["-"], stdin=Buffered(sample_pcap()))
    assert len(list(captures.packets())) == 5


def test_non_blocking_standard_input() -> None:
    inside, outside = os.pipe()
    os.set_blocking(inside, False)
    with subprocess.Popen(
        [sys.executable, "-c", READER],
        stdin=inside, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(inside)
        assert process.stdout is not None
        os.write(outside, sample_pcap([1]))
        assert process.stdout.readline() == b"1 60\n"
        os.write(outside, pcap_packet(2, bytes(70)))
        assert process.stdout.readline() == b"2 70\n"
        os.close(outside)
        assert process.stdout.readline() == b"end 2 [] []\n"
