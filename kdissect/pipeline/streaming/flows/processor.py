"""Shards as Spark runs them: a stateful processor over the RocksDB state store.

A grouping key is one group of flows, of all capture sets. Each flow is an entry of a map, so that a batch
reads and writes only the flows with packets, and flows whose time is up. Grouping by flow was rejected:
silence that ends a connection would need a timer for each, by a watermark that all capture sets share.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from kdissect.capture.filesystems import filesystem_of
from kdissect.model.limits import use
from kdissect.pipeline.sink.table_directory import StreamDirectory
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.flow_shuffle.run import Run
from kdissect.pipeline.streaming.flows.shard import work_through
from kdissect.pipeline.streaming.micro_batch import staging_url
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.worker_packages import require_here
from kdissect.serdes.decoders import installed_modules

REPORTS_DDL = "part INT, report BINARY"


class ShardProcessor(StatefulProcessor):
    """Processor that runs the shards of each key. It yields a row with the pickled `Report` of each."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._modules = () if settings.schemas is None else installed_modules()

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state. Raises ModuleNotFoundError if a package of the driver is missing here."""
        use(self._settings.limits)
        require_here(self._modules, self._settings.tables)
        self._store = _SparkStore(handle)
        self._catalogue = Catalogue(*filesystem_of(self._settings.own))
        self._tables = StreamDirectory(*filesystem_of(self._settings.output))

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Process the rows of one group."""
        runs = (Run(row.part, bytes(row.key), row.order_ns, row.ref, bytes(row.data)) for row in rows)
        for report in work_through(runs, self._settings, self._store, self._catalogue, self._staging):
            yield Row(part=key[0], report=pickle.dumps(report))

    def close(self) -> None:
        """Close the processor, which has no resources."""

    def _staging(self, batch: int) -> str:
        return staging_url(self._settings, self._tables, batch)


class _SparkStore:
    """The entries of the group whose key Spark works on."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._entries = handle.getMapState("entries", "key BINARY", "first BINARY, second BINARY")

    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        """Return an entry, or None."""
        found: Any = self._entries.getValue((key,))
        return None if found is None else (bytes(found[0]), bytes(found[1]))

    def put(self, key: bytes, first: bytes, second: bytes) -> None:
        """Keep an entry."""
        self._entries.updateValue((key,), (first, second))

    def remove(self, key: bytes) -> None:
        """Forget an entry."""
        self._entries.removeKey((key,))
