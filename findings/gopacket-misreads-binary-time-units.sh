#!/usr/bin/env bash
# gopacket 1.7.7 reads wrong times from a pcapng file whose time unit is a power of two, or a second.
#
# The option if_tsresol of an interface is the negative power of 10, or of 2 if the most significant bit is set, of the
# unit that the timestamps of its packets count. Capture hardware counts in units such as 2^-32 s.
#
# Expected: draft-ietf-opsawg-pcapng, section "Interface Description Block", option if_tsresol. A timestamp of N times
# 2^30 ticks and a quarter of that, in units of 2^-30 s, is N.25 s. dpkt 1.9.8 and python-pcapng 2.1.1 read it so.
# Observed: pcapgo.NgReader replaces a unit by a whole number of nanoseconds. 2^-20 s becomes 953 ns, so that a time
# is up to 0.7 ms early, and 2^-28 s (3.7 ns) becomes 3 ns: a fifth of each second is lost. 2^-30 s becomes 1 ns: 0.25 s
# is read as 0.268 s, and the times of a second run past its end. Units of 1 s (if_tsresol 0) are read as microseconds,
# so that 2023 becomes January 1970. There is no error. We found no public report.
#
# Consequence for captures: latencies that are computed from the packets of such a file are wrong by up to 20 percent.
#
# Needs go, python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in go python3; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"

# Packages.
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir dpkt==1.9.8 python-pcapng==2.1.1; } > pip.log 2>&1 \
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
	_, info, err := reader.ReadPacketData()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.6f\n", float64(info.Timestamp.UnixMicro())/1e6)
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd reader && go build -o ../read .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

# One packet in each file.
cat > units.py <<'PYTHON'
import logging
import struct
import subprocess

import dpkt

logging.disable(logging.WARNING)
import pcapng

NOW = 1_700_000_000
FRAME = bytes(60)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def capture(resolution, ticks):
    header = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack("<HHB3xHH", 9, 1, resolution, 0, 0)  # if_tsresol, then the end of the options
    packet = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME)) + FRAME
    return header + block(1, struct.pack("<HHI", 1, 0, 0) + options) + block(6, packet)


for name, resolution, second, part in (
    ("10^-9", 9, 10**9, 0.25),
    ("2^-20", 0x80 | 20, 2**20, 0.75),
    ("2^-28", 0x80 | 28, 2**28, 0.75),
    ("2^-30", 0x80 | 30, 2**30, 0.25),
    ("1", 0, 1, 0),
):
    with open("one.pcapng", "wb") as file:
        file.write(capture(resolution, NOW * second + int(part * second)))
    with open("one.pcapng", "rb") as file:
        (first,) = (time for time, _ in dpkt.pcapng.Reader(file))
    with open("one.pcapng", "rb") as file:
        (second,) = (float(each.timestamp) for each in pcapng.FileScanner(file) if hasattr(each, "packet_data"))
    seen = subprocess.run(["./read", "one.pcapng"], capture_output=True, text=True)
    print(f"unit {name} s: dpkt {first:.6f}, python-pcapng {second:.6f}, gopacket {(seen.stdout or seen.stderr).strip()}")
PYTHON
seen=$(venv/bin/python units.py 2>&1)

echo "$seen"
[ "$seen" = "unit 10^-9 s: dpkt 1700000000.250000, python-pcapng 1700000000.250000, gopacket 1700000000.250000
unit 2^-20 s: dpkt 1700000000.750000, python-pcapng 1700000000.750000, gopacket 1700000000.749469
unit 2^-28 s: dpkt 1700000000.750000, python-pcapng 1700000000.750000, gopacket 1700000000.603979
unit 2^-30 s: dpkt 1700000000.250000, python-pcapng 1700000000.250000, gopacket 1700000000.268435
unit 1 s: dpkt 1700000000.000000, python-pcapng 1700000000.000000, gopacket 1700.000000" ] \
    || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: gopacket reads other times than dpkt and python-pcapng."
