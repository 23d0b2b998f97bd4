"""The query: starts it, lets it go on until the user stops it, and reports its progress."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.pipeline.sink.alert_targets import Target
from kdissect.pipeline.sink.alerts import Alerts
from kdissect.pipeline.sink.compaction import compact_every
from kdissect.pipeline.sink.table_directory import GRACE_S, StreamDirectory
from kdissect.pipeline.streaming.arrivals.stream_source import NAME, StreamSource, option_of
from kdissect.pipeline.streaming.flows.processor import REPORTS_DDL, ShardProcessor
from kdissect.pipeline.streaming.micro_batch import Batches, Done
from kdissect.pipeline.streaming.stream_settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Batches after which small files are joined.
_COMPACT_EVERY = 32
_POLL_S = 1
# Settings of a session for streams. Spark takes transformWithState with RocksDB only. Changes are logged, so
# that a batch uploads only its changes, not the whole store.
STREAM_CONF = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # A directory that was not scanned does not stop the query.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


class Pace(NamedTuple):
    """Timing of a stream. `once`: catch up and end. Otherwise directories are scanned every `interval_s`
    seconds.
    """

    once: bool = False
    interval_s: float = 10.0


class Watch:
    """A running stream. It calls `on_batch` for each committed batch, with the seconds that the commit took.

    `alerts` receive findings. `warn` takes one line for people. Replaced files stay for `grace_s` seconds.
    """

    def __init__(
        self,
        settings: Settings,
        on_batch: Callable[[Done, float], None],
        warn: Callable[[str], None],
        alerts: Sequence[Target] = (),
        grace_s: float = GRACE_S,
    ) -> None:
        self._settings = settings
        self._on_batch = on_batch
        self._warn = warn
        self._directory = StreamDirectory(*filesystem_of(settings.output), grace_s)
        self._batches = Batches(settings, self._directory, Alerts(alerts, self._directory, warn))

    def start(self, spark: SparkSession, pace: Pace) -> StreamingQuery:
        """Start the query. Raises what Spark raises."""
        settings = self._settings
        spark.dataSource.register(StreamSource)
        runs = spark.readStream.format(NAME).option("settings", option_of(settings)).load()
        groups = runs.withColumn("flows", runs.part % settings.shards).groupBy("flows")
        reports = groups.transformWithState(ShardProcessor(settings), REPORTS_DDL, "Update", "None")
        writer = reports.writeStream.foreachBatch(self._commit).outputMode("update")
        writer = writer.option("checkpointLocation", f"{settings.checkpoint.rstrip('/')}/spark")
        if pace.once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{max(1, round(pace.interval_s * 1000))} milliseconds").start()

    def _commit(self, frame: DataFrame, batch: int) -> None:
        reports = [pickle.loads(row.report) for row in frame.collect()]
        if not reports:
            return
        started = time.monotonic()
        done = self._batches.commit(frame.sparkSession, reports)
        compact_every(self._directory, _COMPACT_EVERY, self._warn)
        self._on_batch(done, time.monotonic() - started)


def follow(query: StreamingQuery, is_over: Callable[[], bool], on_progress: Callable[[Any], None]) -> None:
    """Wait until the query ends or is to end, and pass on Spark's own progress. Raises the query's
    exceptions.
    """
    told = -1
    while True:
        ended = query.awaitTermination(_POLL_S)
        for progress in query.recentProgress:
            if progress.batchId > told and progress.numInputRows:
                told = progress.batchId
                on_progress(progress)
        if ended:
            return
        if is_over():
            query.stop()
            return
