#!/usr/bin/env bash
# fastavro 1.13.1 reads a fixed with a reader's enum of the same name, and returns bytes that are no symbol.
#
# Avro's schema resolution compares the writer's schema with the reader's schema. A reader gets an error if the two do
# not match.
#
# Expected: an error. Specification 1.12.0, "Schema Resolution": "It is an error if the two schemas do not match", and
# a fixed matches only "both schemas are fixed whose sizes and (unqualified) names match". The package avro of Apache
# raises SchemaResolutionException.
# Observed: schemaless_reader returns the bytes of the fixed. The reader's enum has the one symbol A.
#
# Consequence for compatibility tests: a change that other readers cannot follow passes.
#
# Needs python3 with venv. Exit codes: see README.md.
set -uo pipefail

cannot() { echo "Cannot run: $*"; exit 77; }
command -v python3 > /dev/null || cannot "python3 is missing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || cannot "no temporary folder"
{ python3 -m venv venv && venv/bin/pip install -q --no-cache-dir fastavro==1.13.1 avro==1.12.2; } > pip.log 2>&1 \
    || cannot "PyPI: $(tail -1 pip.log)"

cat > read.py <<'PYTHON'
import io
import json

import avro.io
import avro.schema
import fastavro


def record(kind):
    return {"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]}


writer = record({"type": "fixed", "name": "X", "size": 1})
reader = record({"type": "enum", "name": "X", "symbols": ["A"]})
written = io.BytesIO()
fastavro.schemaless_writer(written, writer, {"x": b"a"})
data = written.getvalue()
print("fastavro:", fastavro.schemaless_reader(io.BytesIO(data), writer, reader))
schemas = [avro.schema.parse(json.dumps(schema)) for schema in (writer, reader)]
try:
    print("avro:", avro.io.DatumReader(*schemas).read(avro.io.BinaryDecoder(io.BytesIO(data))))
except Exception as error:
    print("avro:", type(error).__name__)
PYTHON
found=$(venv/bin/python read.py 2>&1)
echo "$found"
[ "$found" = "fastavro: {'x': b'a'}
avro: SchemaResolutionException" ] || { echo "Changed: the output differs from the finding."; exit 1; }
echo "The finding holds: a reader whose enum has the symbol A receives b'a'."
