"""Freezes what a release writes: `python -m tests.pipeline.released.freeze`, once, when it is released.

Writes beside this file `VERSION.schema`, the tables as text, and `VERSION/`, the tables of a small capture as
one batch of a stream. Both stay as they are for ever: later versions have to read them. Before the release
delete both to freeze anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from kdissect import __version__
from kdissect.api import Dissection
from kdissect.causes.cause_stage import CauseStage
from kdissect.engine.tables.all_tables import TABLES, TABLES_VERSION
from kdissect.engine.tables.evolution import schema_text
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.table_files.parquet_parts import ParquetParts
from kdissect.stages.one_process import produce
from kdissect.stages.rows.table_rows import batch_of

HERE = Path(__file__).parent
CAPTURE = Path("captures", "mock_rdk216_txn.pcap")  # has rows for every table
# Enough to see every kind of column filled, and small enough for a repository.
MAX_ROWS = 12


def schema_with_version() -> str:
    """Return what `VERSION.schema` holds."""
    return f"version {TABLES_VERSION}\n{schema_text(TABLES.values())}"


def freeze() -> int:
    """Write both; gives the exit code."""
    text, root = HERE / f"{__version__}.schema", HERE / __version__
    if text.exists() or root.exists():
        sys.stderr.write(f"{__version__} is frozen already\n")
        return 1
    text.write_text(schema_with_version())
    directory = StreamDirectory(fs.LocalFileSystem(), str(root))
    parts = ParquetParts(directory.filesystem, directory.staging(0), (), "frozen")
    for name, table in _tables().items():
        for batch in table.combine_chunks().to_batches() or [batch_of(TABLES[name], [])]:
            parts.add(name, batch)
    directory.commit_batch(0, parts.close(), {}, {"inputs": [str(CAPTURE)]})
    (root / "_kdissect.lock").unlink()
    (root / "_staging").rmdir()
    return 0


def _tables() -> dict[str, pa.Table]:
    found = {name: [batch_of(TABLES[name], [])] for name in TABLES}
    for name, batch in produce(Dissection([str(CAPTURE)]), frozenset(TABLES), causes=CauseStage):
        found[name].append(batch)
    return {name: pa.Table.from_batches(batches).slice(0, MAX_ROWS) for name, batches in found.items()}


if __name__ == "__main__":
    sys.exit(freeze())
