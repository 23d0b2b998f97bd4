"""The trace contexts that applications put into headers of records."""

from __future__ import annotations

from collections.abc import Iterator

from opentelemetry import trace
from opentelemetry.trace import SpanContext
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.record_sets import record_sets
from kdissect.model.record_batch import RecordBatch
from kdissect.session.exchange import Exchange

MAX_CONTEXTS = 128
"""Different contexts of an exchange that are read. Source: OpenTelemetry Trace SDK, LinkCountLimit."""
_HEADER = "traceparent"  # W3C Trace Context, section 3.2
_STATE = "tracestate"  # section 3.3
_NAMES = frozenset({_HEADER, _STATE})
_MARK = _HEADER.encode()
_propagator = TraceContextTextMapPropagator()


class RecordContexts:
    """The records of an exchange: how many (None: not known), and the different contexts in their headers."""

    def __init__(self, exchange: Exchange) -> None:
        self.records: int | None = None
        self.found: list[SpanContext] = []
        seen: dict[tuple[int, int], SpanContext] = {}
        for records in record_sets(exchange):
            for batch in records.found.batches:
                self._count(batch)
                for context in _contexts_of(batch):
                    if len(seen) < MAX_CONTEXTS:
                        seen.setdefault((context.trace_id, context.span_id), context)
        self.found += seen.values()

    @property
    def only(self) -> SpanContext | None:
        """The context of the records if it is the only one: a span of it can be the parent."""
        return self.found[0] if len(self.found) == 1 else None

    def _count(self, batch: RecordBatch) -> None:
        if batch.count is not None and not batch.is_control:
            self.records = (self.records or 0) + batch.count


def _contexts_of(batch: RecordBatch) -> Iterator[SpanContext]:
    if batch.is_control or (not batch.codec and batch.data.find(_MARK, batch.start, batch.end) < 0):
        return  # most batches need no look at their records
    for record in iter_records(batch, []):
        carrier = {
            name: value.decode("ascii", "replace")
            for name, value in record.headers
            if isinstance(name, str) and name in _NAMES and value is not None
        }
        if _HEADER in carrier:
            context = trace.get_current_span(_propagator.extract(carrier)).get_span_context()
            if context.is_valid:
                yield context
