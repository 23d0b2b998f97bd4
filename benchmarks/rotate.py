"""Cuts a pcap into files as tcpdump -C rotates them: name.pcap, name.pcap1, name.pcap2 ...

    python benchmarks/rotate.py big.pcap --files 20 --output folder/

Cut by packets, wherever that falls, so that connections and frames go on in the next file. `--copies N`
repeats the capture (Ethernet, IPv4) with other addresses, up to 256 times: a large set of as many connections
takes no time to make. `--sets N` deals the copies out to N folders, each of which is what one host captured.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

FILE_HEADER, PACKET_HEADER = 24, 16  # draft-ietf-opsawg-pcap sections 4 and 5
# Third byte of the addresses, which generate.py leaves 0: behind the packet header, 14 bytes of Ethernet, RFC
# 791 section 3.1.
SOURCE_AT = PACKET_HEADER + 14 + 12 + 2
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


def rotate(path: Path, files: int, output: Path, copies: Sequence[int] = (0,)) -> list[Path]:
    """Write the parts, of a capture that is repeated as these copies; gives their paths in order."""
    header, places = packets(path)
    output.mkdir(parents=True, exist_ok=True)
    share = -(-len(places) * len(copies) // files)
    packs = repeated(path.read_bytes(), places, copies)
    written = []
    for number in range(files):
        part = b"".join(islice(packs, share))
        if not part:
            break
        target = output / f"{path.stem}.pcap{number or ''}"
        target.write_bytes(header + part)
        written.append(target)
    return written


def repeated(data: bytes, places: list[tuple[int, int]], copies: Sequence[int]) -> Iterator[bytes]:
    """The packets in the order of time, each in all copies, which have addresses of their own."""
    if copies == (0,):
        yield from (data[start:end] for start, end in places)
        return
    for start, end in places:
        packet = bytearray(data[start:end])
        source, destination = packet[SOURCE_AT], packet[DESTINATION_AT]
        for copy in copies:
            packet[SOURCE_AT], packet[DESTINATION_AT] = source ^ copy, destination ^ copy
            yield bytes(packet)


def main(arguments: list[str]) -> int:
    """Rotate one capture; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture", type=Path)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    for number in range(chosen.sets):
        copies = tuple(range(number, chosen.copies, chosen.sets))
        output = chosen.output / f"host{number}" if chosen.sets > 1 else chosen.output
        for path in rotate(chosen.capture, max(1, chosen.files // chosen.sets), output, copies):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
