"""What small files cost and what joining them does: `python benchmarks/compaction.py CAPTURE --batches 200`.

The exchanges of a capture, committed as so many batches, by day and broker; then joined by hand, or before
that every so many batches (`--every`). Times are seconds of CPU.
"""

from __future__ import annotations

import argparse
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow as pa
from pyarrow import fs

from kdissect.api import Dissection
from kdissect.pipeline.sink.compaction import compact, compact_every
from kdissect.pipeline.sink.readers import dataset_of
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.parquet_parts import ParquetParts
from kdissect.stages.one_process import produce

TABLE = "exchanges"


def grow(place: StreamDirectory, rows: pa.Table, batches: int, every: int) -> None:
    """Commit rows as batches."""
    step = -(-rows.num_rows // batches)
    in_commits = in_compaction = 0.0
    for batch in range(batches):
        began = process_time()
        parts = ParquetParts(place.filesystem, place.staging(batch), ("day", "broker"), "task")
        for part in rows.slice(batch * step, step).to_batches():
            parts.add(TABLE, part)
        place.commit_batch(batch, parts.close(), {}, {})
        in_commits += process_time() - began
        if every:
            began = process_time()
            compact_every(place, every)
            in_compaction += process_time() - began
    print(f"{batches} batches: {in_commits:.2f} s, joined on the way: {in_compaction:.2f} s")


def tell(place: StreamDirectory, when: str) -> None:
    """Files, bytes, and what reading two columns takes."""
    began = process_time()
    rows = dataset_of(place.root, TABLE).to_table(columns=["api", "latency_ns"]).num_rows
    took = process_time() - began
    entries = place.entries()
    size = sum(entry.bytes for entry in entries) / 1e6
    print(f"{when}: {len(entries)} files, {size:.1f} MB, {rows} rows read in {took:.3f} s")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("capture")
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--every", type=int, default=0)
    options = parser.parse_args()
    found = [batch for _, batch in produce(Dissection([options.capture]), frozenset({TABLE}))]
    with TemporaryDirectory() as root:
        place = StreamDirectory(fs.LocalFileSystem(), root, 0)
        grow(place, pa.Table.from_batches(found).combine_chunks(), options.batches, options.every)
        tell(place, "before")
        began = process_time()
        compact(place)
        print(f"joined: {process_time() - began:.2f} s")
        tell(place, "after")


if __name__ == "__main__":
    main()
