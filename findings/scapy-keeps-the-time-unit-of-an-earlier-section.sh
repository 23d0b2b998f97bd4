#!/usr/bin/env bash
# scapy 2.8.0 reads the second section of a pcapng file with the time unit of the first one.
#
# A pcapng file may have several sections, as `cat first.pcapng second.pcapng` makes. Interfaces belong to their section.
#
# Expected: draft-ietf-opsawg-pcapng, section "Section Header Block", ends the scope of the interfaces with the section,
# and section "Interface Description Block" gives an interface without the option if_tsresol a unit of microseconds.
# python-pcapng 2.1.1 does that.
# Observed: the interface of the first section has if_tsresol 9 (nanoseconds), that of the second section has no
# if_tsresol. scapy divides the time of the second packet by 10^9, so 2023 becomes January 1970.
#
# Consequence for captures: a rotated capture that was joined with cat has times that jump by half a century.
#
# Needs python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
command -v python3 > /dev/null || cannot "python3 is missing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir scapy==2.8.0 python-pcapng==2.1.1; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"

cat > both.py <<'PYTHON'
import logging
import struct

logging.disable(logging.WARNING)
import pcapng
from scapy.utils import PcapNgReader

NOW = 1_700_000_000
FRAME = bytes(60)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def section(options, ticks):
    header = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    interface = block(1, struct.pack("<HHI", 1, 0, 0) + options)
    packet = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME)) + FRAME
    return header + interface + block(6, packet)


nanoseconds = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)  # if_tsresol = 10^-9, then the end of the options
with open("joined.pcapng", "wb") as file:
    file.write(section(nanoseconds, NOW * 10**9) + section(b"", NOW * 10**6))
with open("joined.pcapng", "rb") as file:
    times = [block.timestamp for block in pcapng.FileScanner(file) if hasattr(block, "packet_data")]
print("python-pcapng 2.1.1:", *(f"{float(each):.0f}" for each in times))
print("scapy 2.8.0:", *(f"{float(packet.time):.0f}" for packet in PcapNgReader("joined.pcapng")))
PYTHON
seen=$(venv/bin/python both.py 2>&1 | tail -2)

echo "$seen"
[ "$seen" = "python-pcapng 2.1.1: 1700000000 1700000000
scapy 2.8.0: 1700000000 1700000" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: scapy reads the second section with the time unit of the first one."
