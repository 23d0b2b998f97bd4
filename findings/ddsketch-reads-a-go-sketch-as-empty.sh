#!/usr/bin/env bash
# ddsketch 3.0.1 (Python) and @datadog/sketches-js 2.1.1 read a sketch that sketches-go 1.4.8 wrote as empty.
#
# All three libraries exchange sketches as the protobuf message of ddsketch.proto. That message has two encodings of a
# store: `binCounts`, a map, and `contiguousBinCounts`, a list with an offset. A message may use either of them.
#
# Expected: the count and the median of the sketch, or an error for an encoding that a reader does not support.
# Observed: the default sketch of Go, with the values 1 to 1000, is written with 200 `binCounts` and no
# `contiguousBinCounts`. Both readers accept the message and return the count 0. Python has no median, and JavaScript
# returns NaN. Neither reports an error.
#
# Consequence for statistics of response times: quantiles that a Go exporter sends disappear in such a reader.
#
# Needs go, python3 with venv, npm and node. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
for tool in go python3 npm node; do command -v "$tool" > /dev/null || cannot "$tool is missing"; done

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"

# Packages.
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir ddsketch==3.0.1 protobuf==6.33.0; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"
npm install --silent --no-audit --no-fund --cache "$work/npm" @datadog/sketches-js@2.1.1 protobufjs@7.5.4 > npm.log 2>&1 \
    || cannot "npm: $(tail -1 npm.log)"
mkdir writer
cat > writer/go.mod <<'GO'
module writer

go 1.21

require (
	github.com/DataDog/sketches-go v1.4.8
	google.golang.org/protobuf v1.36.11
)
GO
cat > writer/main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/DataDog/sketches-go/ddsketch"
	"google.golang.org/protobuf/proto"
)

func main() {
	sketch, err := ddsketch.NewDefaultDDSketch(0.01)
	if err != nil {
		panic(err)
	}
	for value := 1; value <= 1000; value++ {
		if err := sketch.Add(float64(value)); err != nil {
			panic(err)
		}
	}
	message, err := proto.Marshal(sketch.ToProto())
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[1], message, 0o644); err != nil {
		panic(err)
	}
	median, err := sketch.GetValueAtQuantile(0.5)
	if err != nil {
		panic(err)
	}
	fmt.Printf("count %.0f, median %.0f\n", sketch.GetCount(), median)
}
GO
export GOPATH="$work/go" GOCACHE="$work/gocache" GOFLAGS=-mod=mod
(cd writer && go build -o ../write .) > go.log 2>&1 || cannot "Go modules: $(tail -1 go.log)"

# One writer, two readers.
cat > read.py <<'PYTHON'
import sys

from ddsketch.pb.ddsketch_pb2 import DDSketch
from ddsketch.pb.proto import DDSketchProto

message = DDSketch()
with open(sys.argv[1], "rb") as file:
    message.ParseFromString(file.read())
store = message.positiveValues
sketch = DDSketchProto.from_proto(message)
print(f"binCounts {len(store.binCounts)}, contiguousBinCounts {len(store.contiguousBinCounts)},",
      f"count {sketch.count:.0f}, median {sketch.get_quantile_value(0.5)}")
PYTHON
cat > read.cjs <<'NODE'
const { DDSketch } = require('@datadog/sketches-js')
const sketch = DDSketch.fromProto(require('fs').readFileSync(process.argv[2]))
console.log(`count ${sketch.count}, median ${sketch.getValueAtQuantile(0.5)}`)
NODE
written=$(./write sketch.pb 2>&1)
python=$(venv/bin/python read.py sketch.pb 2>&1 | tail -1)
node=$(node read.cjs sketch.pb 2>&1 | tail -1)

echo "sketches-go 1.4.8 wrote:     $written"
echo "ddsketch 3.0.1 reads:        $python"
echo "sketches-js 2.1.1 reads:     $node"
[ "$written" = "count 1000, median 498" ] || { echo "Changed: the writer differs."; exit 1; }
[ "$python" = "binCounts 200, contiguousBinCounts 0, count 0, median None" ] \
    || { echo "Changed: ddsketch differs from the finding."; exit 1; }
[ "$node" = "count 0, median NaN" ] || { echo "Changed: sketches-js differs from the finding."; exit 1; }
echo "The finding holds: both readers take a sketch of 1000 values for an empty one."
