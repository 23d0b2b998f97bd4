"""The surroundings of a filter's evaluation: its facts, and the bodies that it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.decoders import quirks
from kdissect.decoders.bodies import decode_once
from kdissect.decoders.generated.projection import Path, Projector, Values, collected, projector
from kdissect.engine.exchange_bodies import part_of
from kdissect.engine.exchange_rows import TopicsOf, wire_topics
from kdissect.model.frame import Frame
from kdissect.model.record_batch import Record, RecordBatch
from kdissect.query.fields.schema_fields import SIDES
from kdissect.schema.logs import is_own_log
from kdissect.schema.protocol_messages import api
from kdissect.schema.secrets import is_piece
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.engine.records.record_rows import TopicNames
    from kdissect.engine.records.record_values import RecordValues

FindingsOf = Callable[[Exchange], Collection[str]]
"""Codes of the findings about an exchange."""

# Projectors stored, by API, version and side: hostile requests can name 2^32 pairs, Kafka has 736 bodies.
_MAX_PROJECTORS = 1024


def _no_start() -> int:
    return 0


class Context(NamedTuple):
    """Facts that exchanges do not have themselves.

    `start_ns` returns the time of the capture's first packet, `topics_of` the topics of an exchange with the
    names of their ids, `findings_of` the findings about it. `file_names` are the inputs by index. `values`
    decodes keys and values of records (None: by their bytes), `topic_name` returns the topic of records by
    its id. With `show_secrets` bytes of frames have their secrets, which is for printing only.
    """

    start_ns: Callable[[], int] = _no_start
    topics_of: TopicsOf = wire_topics
    findings_of: FindingsOf | None = None
    file_names: Sequence[str] = ()
    values: RecordValues | None = None
    topic_name: TopicNames | None = None
    show_secrets: bool = False


class Bodies:
    """The wanted fields of bodies, one exchange after the other.

    Call `want` first, then `values`. Each body is read once for all wanted fields.
    """

    def __init__(self) -> None:
        self._wanted: dict[tuple[str, int], dict[Path, list[int]]] = {}
        self._slots = 0
        self._projectors: dict[tuple[str, int, int], Projector | None] = {}
        self._exchange: Exchange | None = None
        self._found: dict[str, Values | None] = {}

    def want(self, side: str, paths: Mapping[int, Sequence[Path]]) -> int:
        """Collect the values at some paths, by API key. Return their slot."""
        slot = self._slots
        self._slots += 1
        for key, wanted in paths.items():
            for path in wanted:
                self._wanted.setdefault((side, key), {}).setdefault(path, []).append(slot)
        return slot

    def values(self, exchange: Exchange, side: str, slot: int) -> Sequence[Any]:
        """Return the values of a slot, as far as the body goes, or none if there is no body."""
        if exchange is not self._exchange:
            self._exchange = exchange
            self._found.clear()
        if side not in self._found:
            self._found[side] = self._project(exchange, side)
        found = self._found[side]
        return () if found is None else found[slot]

    def _project(self, exchange: Exchange, side: str) -> Values | None:
        key, version = exchange.api_key, exchange.api_version
        frame, offset = (
            (exchange.request, exchange.request_body_offset)
            if side == SIDES[0]
            else (exchange.response, exchange.response_body_offset)
        )
        if frame is None or key is None or version is None or (side, key) not in self._wanted:
            return None
        if frame.is_cut:
            return self._part(exchange, side, key)
        if frame.logged is not None:
            return self._logged(exchange, frame, side, key)
        if side != SIDES[0]:
            version = quirks.response_body_version(key, version, frame.data, offset)
        project = self._projector(side, key, version)
        if project is None:
            return None
        return project(frame.data, offset) or self._part(exchange, side, key)

    def _logged(self, exchange: Exchange, frame: Frame, side: str, key: int) -> Values | None:
        """Read a frame that was built from a request log, which lacks the records."""
        is_response = side != SIDES[0]
        offset = exchange.response_body_offset if is_response else exchange.request_body_offset
        found = decode_once(frame, offset, key, exchange.api_version or 0, is_response)
        if found is None:
            return None
        from kdissect.engine.records.logged_sizes import value_with_sizes  # start-up: of request logs alone

        return collected(value_with_sizes(found.value), self._wanted[side, key], self._slots)

    def _part(self, exchange: Exchange, side: str, key: int) -> Values | None:
        """Return values of a body that does not fit. Near secrets it excludes possible pieces of a secret."""
        part = part_of(exchange, side)
        if part is None:
            return None
        found = collected(part.value, self._wanted[side, key], self._slots)
        if not exchange.is_near_secrets:
            return found
        return tuple([value for value in values if not is_piece(value)] for values in found)

    def _projector(self, side: str, key: int, version: int) -> Projector | None:
        body_kind = side, key, version
        if body_kind not in self._projectors:
            if len(self._projectors) >= _MAX_PROJECTORS:
                self._projectors.clear()
            self._projectors[body_kind] = self._make(side, key, version)
        return self._projectors[body_kind]

    def _make(self, side: str, key: int, version: int) -> Projector | None:
        found = api(key)
        if found is None or version not in found.versions:
            return None
        message = found.request if side == SIDES[0] else found.response
        return projector(message, version, self._wanted[side, key], self._slots)


class Binding:
    """One evaluation of a filter: the context, and bodies that are read once for all of its tests.

    `number` counts the exchanges that it tested, for filters that need the number.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.bodies = Bodies()
        self.number = 0
        self.record: tuple[str | None, Record] | None = None
        """The record that the filter evaluates, with its topic; None for all of an exchange."""
        self._exchange: Exchange | None = None
        self._batches: Sequence[RecordBatch] = ()

    @cached_property
    def values(self) -> RecordValues:
        """The decoder of keys and values."""
        from kdissect.engine.records.record_values import RecordValues  # start-up: of few filters

        return self.context.values or RecordValues()

    def records(self, exchange: Exchange) -> Iterator[tuple[str | None, Record]]:
        """Yield the record under test, or else all readable records of an exchange, each with its topic."""
        if self.record is not None:
            yield self.record
            return
        # Start-up: few filters ask for records.
        from kdissect.decoders.records.reader import iter_records
        from kdissect.engine.records.record_rows import record_topic
        from kdissect.engine.records.record_sets import record_sets

        for records in record_sets(exchange):
            topic = record_topic(records, self.context.topic_name)
            if is_own_log(topic):
                continue  # Kafka's own, which may hold secrets
            for batch in records.found.batches:
                if not batch.is_control:
                    yield from ((topic, record) for record in iter_records(batch, []))

    def batches(self, exchange: Exchange) -> Sequence[RecordBatch]:
        """Return the record batches of an exchange, as far as they were captured."""
        if exchange is not self._exchange:
            # Start-up: few filters ask for batches.
            from kdissect.engine.records.record_sets import record_sets

            self._exchange = exchange
            self._batches = [batch for records in record_sets(exchange) for batch in records.found.batches]
        return self._batches
