"""A task of a run: it reads the files of its shares, analyses, and writes rows as Parquet.

It analyses as `kdissect tables` does, and writes the files itself: one pass fills all tables, and files of a
task that failed half-way are never named. At its end it reports the facts that it lacked, which other tasks
may have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from socket import gethostname
from typing import NamedTuple

from kdissect.api import Dissection
from kdissect.causes.cause_stage import CauseStage
from kdissect.engine.records.record_values import values_by
from kdissect.engine.taps.copies import Copies
from kdissect.history.topics.topic_names import FETCH, FETCH_SNAPSHOT, TopicNames
from kdissect.model.limits import in_force
from kdissect.model.native import is_compiled
from kdissect.pipeline.shares import WHOLE, Share, Task
from kdissect.pipeline.table_files.forwarded_files import NAMES
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile, parts_in
from kdissect.pipeline.tap_marks import KnownTaps
from kdissect.pipeline.task_setup import OwnCaptures, Setup
from kdissect.pipeline.worker_packages import missing_here
from kdissect.serdes.decoders import installed_modules
from kdissect.session.detection.known_brokers import Brokers, End
from kdissect.session.exchange import Exchange
from kdissect.stages.forwarding import ForwardedEvent, Forwarder
from kdissect.stages.one_process import Production
from kdissect.stages.per_flow import JUDGEMENT, forwarded_batch, judgement_batch
from kdissect.stages.rows.file_rows import FileRows
from kdissect.stages.rows.table_rows import BATCH_ROWS
from kdissect.stages.topic_id_names import WITH_NAMES

Place = tuple[str, str, bytes]
"""Capture set, address of a broker, and id of a topic."""

_LAST = (1 << 63) - 1  # after every time


class Known(NamedTuple):
    """Facts from other tasks: names of topic ids, brokers, and connections that were captured twice."""

    names: TopicNames
    brokers: frozenset[End] = frozenset()
    marks: Copies | None = None


class Result(NamedTuple):
    """Result of a task. `nameless` are its ids without a name, or None if there are too many.

    `uncompiled` is the host where it ran without the native engine, or None if it had the engine. `lacking`
    names the packages that are missing there, and the host: such a task did nothing.
    """

    number: int
    written: tuple[WrittenFile, ...]
    files: Mapping[int, FileRows]
    proven: frozenset[End]
    asked: frozenset[End]
    nameless: frozenset[Place] | None
    uncompiled: str | None
    lacking: str | None = None


class ShareTask:
    """The function of a task. It takes its number, its shares and the known facts, and writes to
    `staging`.
    """

    def __init__(self, setup: Setup, staging: str, partition_by: tuple[str, ...]) -> None:
        self._setup = setup
        self._staging = staging
        self._partition_by = partition_by
        self._modules = () if setup.schemas is None else installed_modules()

    def __call__(self, what: tuple[int, Task, Known]) -> Result:
        self._setup.begin()
        number, task, known = what
        tables = frozenset[str]().union(*(share.tables for share in task))
        if (missing := missing_here(self._modules, tables)) is not None:
            nothing: frozenset[End] = frozenset()
            return Result(number, (), {}, nothing, nothing, frozenset(), None, missing)
        parts = parts_in(self._staging, self._partition_by)
        files: dict[int, FileRows] = {}
        names = _AskedNames(known.names)
        brokers = Brokers(known.brokers)
        for share in task:
            files.update(self._share(share, known, names, brokers, parts))
        names.plain_names()  # learns what is pending
        _add_told(names, parts, least=1)
        written = tuple(file._replace(has_ids=False) for file in parts.close())
        nameless = frozenset(names.nameless) if len(names.nameless) < names.most else None
        return Result(
            number, written, files, frozenset(brokers.proven), frozenset(brokers.asked), nameless,
            None if is_compiled else gethostname(),
        )  # fmt: skip

    def _share(
        self, share: Share, known: Known, names: _AskedNames, brokers: Brokers, parts: ParquetParts
    ) -> Iterator[tuple[int, FileRows]]:
        setup = self._setup
        captures = OwnCaptures(setup.inputs, (share.capture_set,))
        dissection = Dissection(
            captures, setup.ports.brokers, None, hosts=setup.hosts, limits=setup.limits,
            only_ports=setup.ports.only, shard=None if share.shard == WHOLE else share.shard,
            brokers=brokers, taps=KnownTaps(known.marks) if known.marks is not None else None,
        )  # fmt: skip
        dissection.key_logs.files = list(setup.key_logs)
        dissection.topics = names
        production = Production(
            dissection,
            _with_names(share.tables),
            fields=setup.fields,
            causes=CauseStage,
            values=values_by(setup.schemas),
        )
        for table, batch in production.while_read():
            if table in share.tables:
                parts.add(table, batch)
            _add_told(names, parts, least=BATCH_ROWS)
        judgement = production.judgement()
        if judgement is not None:
            parts.add(JUDGEMENT, judgement_batch(judgement))
        for table, batch in production.rest():
            if table in share.tables:
                parts.add(table, batch)
            _add_told(names, parts, least=BATCH_ROWS)
        for file in captures.own:
            yield file.index, FileRows.of(file, dissection.file_names[file.index])


def _with_names(tables: frozenset[str]) -> frozenset[str]:
    """Return tables from which the names of topic ids are learned: rows of exchanges learn them."""
    return tables | {"exchanges"} if tables & WITH_NAMES else tables


class _AskedNames(TopicNames):
    """Topic names that remember ids without a name, and the exchanges that contain names."""

    def __init__(self, known: TopicNames) -> None:
        super().__init__()
        self.__dict__.update(known.__getstate__())
        self.most = in_force().topic_names
        self.nameless: set[Place] = set()
        self._teller = Forwarder()
        self._tells: list[ForwardedEvent] = []

    def told(self, least: int) -> list[ForwardedEvent]:
        """Return the exchanges with names since the last call, once there are `least` of them."""
        if len(self._tells) < least:
            return []
        found, self._tells = self._tells, []
        return found

    def learn(self, exchange: Exchange) -> None:
        """Learn names, as `TopicNames` does, and forward the exchange."""
        super().learn(exchange)
        if exchange.api_key not in (FETCH, FETCH_SNAPSHOT):
            self._tell(exchange)

    def _learn_records(self, exchange: Exchange) -> None:
        super()._learn_records(exchange)
        self._tell(exchange)

    def _tell(self, exchange: Exchange) -> None:
        frame = exchange.response or exchange.request
        if frame is not None:
            time_ns = min(max(0, frame.end_time_ns), _LAST)
            self._teller.add_names((time_ns.to_bytes(8) + frame.last_ref.to_bytes(8), exchange))
            self._tells += self._teller.take()

    def _name(self, place: tuple[str, str], topic_id: bytes) -> str | None:
        found = super()._name(place, topic_id)
        if found is None and len(self.nameless) < self.most:
            self.nameless.add((*place, topic_id))
        return found


def _add_told(names: _AskedNames, parts: ParquetParts, least: int) -> None:
    """Write the exchanges with names, once there are `least` of them."""
    rows = names.told(least)
    if rows:
        parts.add(NAMES, forwarded_batch(rows))
