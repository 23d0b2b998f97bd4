"""Cuts a pcap into files as tcpdump -C rotates them: name.pcap, name.pcap1, name.pcap2 ...

    python benchmarks/rotate.py big.pcap --files 20 --output folder/

Cut by packets once a file has its share of the bytes, so that connections and frames go on in the next file.
`--network N` gives the capture (Ethernet, IPv4) other addresses: what another host captured. Reads and writes
packet by packet, whatever the size.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

FILE_HEADER, PACKET_HEADER = 24, 16  # draft-ietf-opsawg-pcap sections 4 and 5
# Third byte of the addresses, which generate.py leaves 0: behind the packet header, 14 bytes of Ethernet, RFC
# 791 section 3.1.
SOURCE_AT = PACKET_HEADER + 14 + 12 + 2
DESTINATION_AT = SOURCE_AT + 4
_LITTLE = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")


def packets(capture: BinaryIO, order: str, network: int) -> Iterator[bytes]:
    """Yield packets with their headers, from where the capture stands; with other addresses where `network`
    is not 0.
    """
    while len(header := capture.read(PACKET_HEADER)) == PACKET_HEADER:
        packet = header + capture.read(struct.unpack_from(f"{order}I", header, 8)[0])
        if network:
            moved = bytearray(packet)
            moved[SOURCE_AT] ^= network
            moved[DESTINATION_AT] ^= network
            packet = bytes(moved)
        yield packet


def rotate(path: Path, files: int, output: Path, network: int = 0) -> list[Path]:
    """Write the parts; gives their paths in order."""
    output.mkdir(parents=True, exist_ok=True)
    size = path.stat().st_size
    written: list[Path] = []
    with path.open("rb", buffering=1 << 20) as capture:
        header = capture.read(FILE_HEADER)
        read = len(header)
        rest = packets(capture, "<" if header[:4] in _LITTLE else ">", network)
        for number in range(files):
            written.append(output / f"{path.stem}.pcap{number or ''}")
            with written[-1].open("wb", buffering=1 << 20) as part:
                part.write(header)
                for packet in rest:
                    part.write(packet)
                    read += len(packet)
                    if read * files >= size * (number + 1):
                        break
    return written


def main(arguments: list[str]) -> int:
    """Rotate one capture; the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("capture", type=Path)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--network", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    for path in rotate(chosen.capture, chosen.files, chosen.output, chosen.network):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
