"""CPU time of `--schemas` for 1 million Avro values, and of fastavro alone on the same bytes, in turns.

    python benchmarks/avro_values.py --rounds 5

fastavro's side is a Python process that reads the values from a file and calls `schemaless_reader` on the
bytes after each id. It parses no capture, makes no JSON and prints only a number. kdissect's side is the
whole command, from the capture to its output. Both include the start of the process. `orders` are records
with text, numbers, a union, an array and a time, `small` are records of two fields. Values are seeded,
written by fastavro, 100 in a batch and ten batches in a request, without compression.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import fastavro
from measure import SCRATCH, Contest, Run, Side, interleave, machine

HERE = Path(__file__).resolve()
HOME = HERE.parents[1]
BATCH, BATCHES = 100, 10
ID = struct.Struct(">BI")
LENGTH = struct.Struct(">I")
TIME_MS = 1_700_000_000_000
PRODUCE, VERSION = 0, 3
SHAPES: dict[str, Any] = {
    "orders": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID", "SENT"]}},
        {"name": "total", "type": "double"},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
    "small": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}
WORKS = {
    "records, TSV": ("records", "-e", "topic,offset,decoded"),
    "records, JSONL": ("records", "--format", "jsonl"),
    "records, Parquet": ("records", "--format", "parquet", "-o", f"{SCRATCH}/records.parquet"),
    "tables": ("tables", "--tables", "records", "-o", f"{SCRATCH}/tables"),
}


def schema_of(shape: str) -> dict[str, Any]:
    """Return the schema of the values."""
    return {"type": "record", "name": "Value", "fields": SHAPES[shape]}


def values(shape: str, count: int) -> Iterator[bytes]:
    """Yield seeded values, each after its id."""
    random, schema = Random(1), fastavro.parse_schema(schema_of(shape))
    for number in range(count):
        name = f"customer-{random.randrange(100_000)}"
        value = {
            "id": number, "name": name, "customer": name, "state": random.choice(("NEW", "PAID", "SENT")),
            "total": random.randrange(100_000) / 100, "placed": TIME_MS + number,
            "note": random.choice((None, "leave at the door")), "tags": ["web"] * random.randrange(3),
        }  # fmt: skip
        out = BytesIO()
        out.write(ID.pack(0, 1))
        fastavro.schemaless_writer(out, schema, value)
        yield out.getvalue()


def write(folder: Path, shape: str, count: int) -> None:
    """Write the capture, the registry and the values."""
    sys.path.insert(0, str(HOME))
    from kdissect.decoders.encoder import encode_request, encode_response
    from tests.support.messages.batches import batch_bytes, record_bytes
    from tests.support.messages.traffic import Conversation
    from tests.support.packets.pcaps import write_pcap

    registered = {"id": 1, "subject": "orders-value", "version": 1, "schema": json.dumps(schema_of(shape))}
    (folder / f"{shape}.json").write_text(json.dumps([registered]))
    talk = Conversation().handshake()
    made, stored = list(values(shape, count)), 0
    with (folder / f"{shape}.values").open("wb") as file:
        for one in made:
            file.write(LENGTH.pack(len(one)) + one)
    while stored < count:
        batches, before = [], stored
        for start in range(stored, min(stored + BATCH * BATCHES, count), BATCH):
            own = made[start : start + BATCH]
            records = [
                record_bytes(delta, delta, b"k%d" % (start + delta), one) for delta, one in enumerate(own)
            ]
            batches.append(batch_bytes(b"".join(records), len(own)))
            stored += len(own)
        data = [{"index": number, "records": one} for number, one in enumerate(batches)]
        topics = [{"name": "orders", "partition_data": data}]
        asked = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": topics}
        talk.client(encode_request(PRODUCE, VERSION, stored, "shop", asked))
        rows = [
            {"index": number, "error_code": 0, "base_offset": before // BATCHES, "log_append_time_ms": -1}
            for number in range(len(batches))
        ]
        answer = {"responses": [{"name": "orders", "partition_responses": rows}], "throttle_time_ms": 0}
        talk.broker(encode_response(PRODUCE, VERSION, stored, answer))
    write_pcap(folder / f"{shape}.pcap", talk.packets)


def decode(path: Path, schema_path: Path) -> None:
    """Decode the values with fastavro alone."""
    schema = fastavro.parse_schema(json.loads(json.loads(schema_path.read_text())[0]["schema"]))
    data, at, count, read = path.read_bytes(), 0, 0, fastavro.schemaless_reader
    while at < len(data):
        (size,) = LENGTH.unpack_from(data, at)
        start, at = at + LENGTH.size + ID.size, at + LENGTH.size + size
        read(BytesIO(data[start:at]), schema)
        count += 1
    print(count)


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="values of each shape")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--home", type=Path, default=HOME, help="the checkout to measure")
    parser.add_argument("--folder", type=Path, help="reuse what an earlier run wrote here")
    parser.add_argument("--decode", nargs=2, type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.decode:
        decode(*chosen.decode)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = chosen.folder or Path(scratch)
        contests = list(_contests(folder, chosen.count, chosen.home))
        print(machine())
        print("\n| values | command | kdissect, CPU s | fastavro, CPU s | ratio |\n|---|---|---:|---:|---:|")
        for contest, runs in zip(contests, interleave(contests, chosen.rounds), strict=True):
            own, alone = (_least(one) for one in runs.values())
            print(f"| {contest.name} | {own:.2f} | {alone:.2f} | {own / alone:.2f} |")
    return 0


def _contests(folder: Path, count: int, home: Path) -> Iterator[Contest]:
    for shape in SHAPES:
        capture, registry, plain = (folder / f"{shape}.{end}" for end in ("pcap", "json", "values"))
        if not capture.exists():
            write(folder, shape, count)
        alone = Side((sys.executable, str(HERE), "--decode", str(plain), str(registry)))
        for name, work in WORKS.items():
            command = (sys.executable, "-m", "kdissect", *work, "--schemas", str(registry), str(capture))
            sides = {"kdissect": Side(command, home), "fastavro": alone}
            yield Contest(f"{shape} | {name}", sides)


def _least(runs: list[Run]) -> float:
    if any(run.status for run in runs):
        raise SystemExit("a command failed")
    return min(run.cpu for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
