"""One flow while it goes on from batch to batch: its analyzer, and a per-flow stage for each connection.

Connections are judged apart: which of them count may be known only when another host's files have come.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.event_order import OrderedAnalyzer, Placed
from kdissect.engine.records.record_values import values_by
from kdissect.engine.taps.tap_matches import Sighting, Sightings
from kdissect.model.packets.segment import PlainSegment
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.flows.freezer import Freezer
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.session.events import ConnectionClosed
from kdissect.stages.forwarding import ForwardedEvent
from kdissect.stages.per_flow import OF_JUDGES, FlowStage
from kdissect.stages.rows.flow_rows import ExchangeTables
from kdissect.stages.rows.table_rows import TableRows

Judged = tuple[str, bytes]
"""A connection that is over, and what its judge came to, pickled."""


class _OneSet(NamedTuple):
    """The capture set of every file that a shard sees."""

    name: str

    def of(self, _file: int) -> str:
        """Return its name."""
        return self.name


class Surroundings:
    """Surroundings that the flows of a shard share: the target of their rows, names of files, secrets."""

    def __init__(
        self, settings: Settings, set_name: str, catalogue: Catalogue, secrets: KeyLogs, rows: TableRows
    ) -> None:
        self.settings = settings
        self.capture_set = _OneSet(set_name)
        self.catalogue = catalogue
        self.secrets = secrets
        self.rows = rows
        schemas = settings.schemas
        self.exchange_tables = ExchangeTables(catalogue, self.rows, values=values_by(schemas))
        self.forwarded: list[ForwardedEvent] = []
        self.judged: list[Judged] = []
        shared: dict[str, Any] = {
            "set": self.capture_set, "catalogue": catalogue, "secrets": secrets, "tables":
            self.exchange_tables,
        }  # fmt: skip
        if settings.hosts is not None:
            shared["hosts"] = settings.hosts
        self.freezer = Freezer(shared)
        judges_values = schemas is not None and not OF_JUDGES.isdisjoint(settings.tables)
        stage = FlowStage((), settings.tables, None, self.exchange_tables, with_records=judges_values)
        self._new_stage = self.freezer.freeze(stage)

    def stage(self) -> FlowStage:
        """Return a stage for a new connection. A thawed stage shares everything made of the rules with other
        stages.
        """
        found: FlowStage = self.freezer.thaw(self._new_stage)
        return found


class Flow:
    """Flow of segments. `feed` and `advance` take them, `close` ends open connections. Picklable by a
    `Freezer`.
    """

    def __init__(self, around: Surroundings) -> None:
        settings = around.settings
        self._sightings = Sightings()
        analyzer = Analyzer(
            settings.ports, around.capture_set.of, around.secrets, settings.hosts, settings.limits,
            self._sightings,
        )  # fmt: skip
        self._ordered = OrderedAnalyzer(analyzer, around.catalogue.number_of)
        self._stages: dict[str, FlowStage] = {}
        self._forwarded: list[ForwardedEvent] = []
        self._judged: list[Judged] = []

    def feed(self, placed: Iterable[tuple[int, int, Any, int]], around: Surroundings) -> None:
        """Take segments in canonical order."""
        take = self._ordered.feed_segment
        for now_ns, ref, segment, time_ns in placed:
            events = take(segment, ref, time_ns, now_ns)
            if events:
                self._add(events, around)

    def tell(self, marks: Iterable[PlainSegment], ref: int) -> None:
        """Take the marks of `engine.nat_sides` for SYNs that come next. `ref` belongs to a packet of the
        capture set.
        """
        for mark in marks:
            self._ordered.analyzer.feed_segment(mark, ref, 0)

    def advance(self, ref: int, now_ns: int, around: Surroundings) -> None:
        """Time came to `now_ns` in the file of `ref`, and the flow has nothing before it any more."""
        self._add(self._ordered.advance(ref, now_ns), around)

    def close(self, ends: Mapping[str, int], around: Surroundings) -> None:
        """End the flow: the capture is over."""
        self._add(self._ordered.close(ends), around)

    @property
    def next_end_ns(self) -> int | None:
        """The time at which silence ends a connection of the flow, or None if no connection is open."""
        return self._ordered.analyzer.next_end_ns()

    def sightings(self) -> list[Sighting]:
        """Return the sightings of its connections: open ones, and connections that ended since the
        last call.
        """
        return self._sightings.take()

    def hand_over(self, around: Surroundings) -> None:
        """Give what was forwarded so far, and what the judges of connections that are over came to."""
        for stage in self._stages.values():
            self._forwarded += stage.take_forwarded()
        around.forwarded += self._forwarded
        around.judged += self._judged
        self._forwarded, self._judged = [], []

    def _add(self, events: Iterable[Placed], around: Surroundings) -> None:
        for placed in events:
            event = placed[1]
            connection = event.connection.id
            stage = self._stages.get(connection)
            if stage is None:
                stage = self._stages[connection] = around.stage()
            stage.add(placed)
            if isinstance(event, ConnectionClosed):
                self._end(connection)

    def _end(self, connection: str) -> None:
        stage = self._stages.pop(connection)
        self._forwarded += stage.take_forwarded()
        judgement = stage.judge()
        if judgement is not None:
            self._judged.append((connection, pickle.dumps(judgement)))
