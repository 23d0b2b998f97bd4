#!/usr/bin/env bash
# scapy 2.8.0 and python-pcapng 2.1.1 ignore the time offset of an interface in a pcapng file.
#
# The option if_tsoffset of an interface is a number of seconds that a reader adds to the timestamp of every packet of
# the interface. A writer that stores timestamps relative to the start of the capture needs it.
#
# Expected: draft-ietf-opsawg-pcapng, section "Interface Description Block", option if_tsoffset. dpkt 1.9.8 and gopacket
# 1.7.7 add it, as tshark and tcpdump do.
# Observed: for an offset of 1,700,000,000 s and a timestamp of 5.25 s, scapy and python-pcapng report 5.25, January 1970
# instead of November 2023, without an error. python-pcapng has the option, as if_tsoffset of the interface. In a file
# with two interfaces that have different offsets, the packets of one second appear to be hours apart. We found no public
# report.
#
# Consequence for captures: joins of such a capture with logs find nothing, and latencies across interfaces are wrong.
#
# Needs go, python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in go python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"

# Packages.
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir dpkt==1.9.8 python-pcapng==2.1.1 scapy==2.8.0; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"
mkdir reader
cat > reader/go.mod <<'GO'
module reader

go 1.21

require github.com/gopacket/gopacket v1.7.7
GO
cat > reader/main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	reader, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		panic(err)
	}
	for {
		_, info, err := reader.ReadPacketData()
		if err != nil {
			break
		}
		fmt.Printf("%.2f\n", float64(info.Timestamp.UnixMicro())/1e6)
	}
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd reader && go build -o ../read .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

# One interface with an offset, then two interfaces with different ones and a packet of the same time on each.
cat > offsets.py <<'PYTHON'
import logging
import struct
import subprocess

import dpkt

logging.disable(logging.WARNING)
import pcapng
from scapy.utils import PcapNgReader

START = 1_700_000_000
FRAME = bytes(60)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def capture(offsets):
    """Return a file with an interface for each offset, and on each a packet at START + 5.25 s."""
    blocks = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for offset in offsets:
        options = struct.pack("<HHqHH", 14, 8, offset, 0, 0)  # if_tsoffset, then the end of the options
        blocks.append(block(1, struct.pack("<HHI", 1, 0, 0) + options))
    for interface, offset in enumerate(offsets):
        ticks = (START - offset) * 10**6 + 5_250_000
        packet = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME))
        blocks.append(block(6, packet + FRAME))
    return b"".join(blocks)


def read_dpkt(name):
    with open(name, "rb") as file:
        return [time for time, _ in dpkt.pcapng.Reader(file)]


def read_pcapng(name):
    with open(name, "rb") as file:
        return [float(each.timestamp) for each in pcapng.FileScanner(file) if hasattr(each, "packet_data")]


def read_scapy(name):
    return [float(packet.time) for packet in PcapNgReader(name)]


def read_gopacket(name):
    return [float(line) for line in subprocess.run(["./read", name], capture_output=True, text=True).stdout.split()]


for name, offsets in (("one.pcapng", [START]), ("two.pcapng", [START, START - 7200])):
    with open(name, "wb") as file:
        file.write(capture(offsets))
    # dpkt takes the options of the first interface for all (kbandla/dpkt#681), so it is a reference for one alone.
    for read in (read_dpkt, read_gopacket, read_scapy, read_pcapng)[len(offsets) - 1 :]:
        print(f"{name} {read.__name__.removeprefix('read_')}:", *(f"{time:.2f}" for time in read(name)))
PYTHON
seen=$(venv/bin/python offsets.py 2>&1)

echo "$seen"
[ "$seen" = "one.pcapng dpkt: 1700000005.25
one.pcapng gopacket: 1700000005.25
one.pcapng scapy: 5.25
one.pcapng pcapng: 5.25
two.pcapng gopacket: 1700000005.25 1700000005.25
two.pcapng scapy: 5.25 7205.25
two.pcapng pcapng: 5.25 7205.25" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: scapy and python-pcapng do not add the offset."
