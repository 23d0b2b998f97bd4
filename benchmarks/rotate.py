"""Cuts a pcap into files as tcpdump -C rotates them: name.pcap, name.pcap1, name.pcap2 ...

    python benchmarks/rotate.py big.pcap --files 20 --output folder/

Cut by packets, wherever that falls, so that connections and frames go on in the next file. `--copies N`
repeats the capture (Ethernet, IPv4) with other addresses: a large set of as many connections takes no time
to make.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_HEADER, PACKET_HEADER = 24, 16  # draft-ietf-opsawg-pcap sections 4 and 5
# Second byte of the addresses: behind the packet header, 14 bytes of Ethernet, RFC 791 section 3.1.
SOURCE_AT = PACKET_HEADER + 14 + 12 + 1
DESTINATION_AT = SOURCE_AT + 4
_LITTLE = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")


def packets(path: Path) -> tuple[bytes, list[tuple[int, int]]]:
    """The file header, and where each packet with its header begins and ends."""
    data = path.read_bytes()
    order = "<" if data[:4] in _LITTLE else ">"
    places, at = [], FILE_HEADER
    while at + PACKET_HEADER <= len(data):
        (length,) = struct.unpack_from(f"{order}I", data, at + 8)
        places.append((at, at + PACKET_HEADER + length))
        at += PACKET_HEADER + length
    return data[:FILE_HEADER], places


def rotate(path: Path, files: int, output: Path) -> list[Path]:
    """Write the parts; gives their paths in order."""
    header, places = packets(path)
    output.mkdir(parents=True, exist_ok=True)
    data = path.read_bytes()
    share = -(-len(places) // files)
    written = []
    for number, part in enumerate(_shares(places, share)):
        target = output / f"{path.stem}.pcap{number or ''}"
        target.write_bytes(header + data[part[0][0] : part[-1][1]])
        written.append(target)
    return written


def repeat(path: Path, copies: int, output: Path) -> None:
    """Write a capture several times over, in the order of time, each copy with addresses of its own."""
    header, places = packets(path)
    data = path.read_bytes()
    with output.open("wb") as file:
        file.write(header)
        for start, end in places:
            packet = bytearray(data[start:end])
            source, destination = packet[SOURCE_AT], packet[DESTINATION_AT]
            for copy in range(copies):
                packet[SOURCE_AT], packet[DESTINATION_AT] = source ^ copy << 4, destination ^ copy << 4
                file.write(packet)


def _shares(places: list[tuple[int, int]], share: int) -> Iterator[list[tuple[int, int]]]:
    for first in range(0, len(places), share):
        yield places[first : first + share]


def main(arguments: list[str]) -> int:
    """Rotate one capture; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture", type=Path)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    whole = chosen.capture
    if chosen.copies > 1:
        chosen.output.mkdir(parents=True, exist_ok=True)
        whole = chosen.output / f"{whole.stem}_{chosen.copies}"
        repeat(chosen.capture, chosen.copies, whole)
    for path in rotate(whole, chosen.files, chosen.output):
        print(path)
    if whole != chosen.capture:
        whole.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
