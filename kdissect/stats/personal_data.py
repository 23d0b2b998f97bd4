"""Personal data by kind, topic and field, with who writes and who reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.records.reader import iter_records
from kdissect.engine.records.personal_parts import ExaminedPart, Part, PersonalParts
from kdissect.engine.records.record_rows import TopicNames, record_topic
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.model.record_batch import Record, RecordBatch, RecordFault
from kdissect.model.wording import plural
from kdissect.personal.contents import Form, examine
from kdissect.personal.finder import Found, names_someone
from kdissect.personal.hits import Confidence, Kind, shape
from kdissect.schema.logs import is_own_log
from kdissect.session.exchange import Exchange

MAX_ROWS = 10_000
"""Rows: kinds of each field of each topic. Further hits are counted alone."""
MAX_CLIENTS = 100
"""Producers and consumers of a row. Hits of others are counted alone."""
_MAX_EXAMPLES, _MAX_FORMS = 3, 8
_EXAMPLE = 40  # characters
_PRODUCE = "produce"
_UNEXAMINED = (Form.BINARY, Form.LARGE, Form.CUT)

Facts = dict[str, Any]
RecordTest = Callable[[Exchange, str | None, Record], bool]


class Users:
    """Counts of hits by client id, and of the hits of clients that are left out."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()
        self.left_out = 0

    def add(self, client_id: str | None) -> None:
        """Count a hit."""
        name = shown_name(client_id or "")
        if name in self.hits or len(self.hits) < MAX_CLIENTS:
            self.hits[name] += 1
        else:
            self.left_out += 1

    @property
    def total(self) -> int:
        """Hits of all clients."""
        return self.hits.total() + self.left_out

    def facts(self) -> list[Facts]:
        """Return the clients, the one with most hits first."""
        return [
            {"client_id": name, "hits": hits}
            for name, hits in sorted(self.hits.items(), key=lambda item: (-item[1], item[0]))
        ]


class _Row:
    __slots__ = ("confidence", "consumers", "examples", "forms", "hits", "producers", "stored")

    def __init__(self) -> None:
        self.hits = self.stored = 0
        self.confidence: Counter[Confidence] = Counter()
        self.forms: Counter[str] = Counter()
        self.examples: dict[str, None] = {}
        self.producers = Users()
        self.consumers = Users()

    def add(self, found: Found) -> None:
        hit = found.hit
        self.hits += 1
        self.confidence[hit.confidence] += 1
        if hit.form and (hit.form in self.forms or len(self.forms) < _MAX_FORMS):
            self.forms[hit.form] += 1
        if len(self.examples) < _MAX_EXAMPLES:
            self.examples[_example(found)] = None

    def median(self) -> Confidence:
        """Return the level that at least half of the hits reach."""
        reached = 0
        for level in sorted(Confidence, reverse=True):
            reached += self.confidence[level]
            if 2 * reached >= self.hits:
                return level
        return Confidence.POSSIBLE


_Place = tuple[Kind, str | None, Part, str]


class PersonalData:
    """Counter of personal data. Add exchanges, or records of log segments, then take `facts`."""

    def __init__(self, parts: PersonalParts, topic_name: TopicNames | None = None) -> None:
        self._parts = parts
        self._topic_name = topic_name
        self._rows: dict[_Place, _Row] = {}
        self._forms: Counter[Form] = Counter()
        self._records = self._left_out = self._faults = 0

    def add_exchange(self, exchange: Exchange, accepts: RecordTest | None = None) -> None:
        """Count the client id and principal of an exchange, and its records that `accepts` takes."""
        self._add_name(Part.CLIENT_ID, exchange.client_id)
        self._add_name(Part.PRINCIPAL, exchange.connection.principal)
        for records in record_sets(exchange):
            self._add_records(records, accepts)

    def add_batch(self, topic: str | None, batch: RecordBatch) -> None:
        """Count the records of a batch in a log segment."""
        for record in self._records_of(topic, batch):
            for row in self._add_record(topic, record):
                row.stored += 1

    def add_unreadable(self, count: int) -> None:
        """Count parts of a log segment that are no batch."""
        self._faults += count

    def facts(self) -> Facts:
        """Return the rows, and what was examined and left out."""
        return {
            "personal_data": sorted(map(_facts, self._rows, self._rows.values()), key=_order),
            "examined": {
                "records": self._records,
                **{str(form): self._forms[form] for form in Form if form not in _UNEXAMINED},
            },
            "left_out": {
                **{str(form): self._forms[form] for form in _UNEXAMINED},
                "hits_without_row": self._left_out,
                "unreadable": self._faults,
            },
        }

    def _add_records(self, records: RecordSet, accepts: RecordTest | None) -> None:
        exchange, topic = records.exchange, record_topic(records, self._topic_name)
        is_written = records.direction == _PRODUCE
        for batch in records.found.batches:
            for record in self._records_of(topic, batch):
                if accepts is not None and not accepts(exchange, topic, record):
                    continue
                for row in self._add_record(topic, record):
                    (row.producers if is_written else row.consumers).add(exchange.client_id)

    def _records_of(self, topic: str | None, batch: RecordBatch) -> Iterator[Record]:
        if batch.is_control or is_own_log(topic):
            return  # Kafka's own
        faults: list[RecordFault] = []
        yield from iter_records(batch, faults)
        self._faults += len(faults)

    def _add_record(self, topic: str | None, record: Record) -> Iterator[_Row]:
        """Count a record. Yield the row of each hit."""
        self._records += 1
        shown = None if topic is None else shown_name(topic)
        for examined in self._parts.of(topic, record):
            content = examined.content
            self._forms[content.form] += 1
            for found in content.found:
                row = self._row((found.hit.kind, shown, examined.part, _path(examined, found)))
                if row is not None:
                    row.add(found)
                    yield row

    def _add_name(self, part: Part, name: str | None) -> None:
        if not name or not names_someone(name):
            return
        for found in examine(name.encode(errors="replace")).found:
            row = self._row((found.hit.kind, None, part, "$"))
            if row is not None:
                row.add(found)

    def _row(self, place: _Place) -> _Row | None:
        row = self._rows.get(place)
        if row is None:
            if len(self._rows) >= MAX_ROWS:
                self._left_out += 1
                return None
            row = self._rows[place] = _Row()
        return row


def shown_name(name: str) -> str:
    """Return a name of a client or topic with the personal data in it as its form alone."""
    if not names_someone(name):
        return name
    out, at = [], 0
    for found in examine(name.encode(errors="replace")).found:
        out += [name[at : found.hit.start], shape(name[found.hit.start : found.hit.end], _EXAMPLE)]
        at = found.hit.end
    return "".join([*out, name[at:]])


def _path(examined: ExaminedPart, found: Found) -> str:
    path = found.leaf.path
    return shown_name(examined.name) + path.removeprefix("$") if examined.part is Part.HEADER else path


def _example(found: Found) -> str:
    hit, text = found.hit, found.leaf.text
    if hit.kind is Kind.CREDENTIAL:  # its form may be half of it
        return f"{hit.form}, {plural(hit.end - hit.start, 'character')}"
    return shape(text[hit.start : hit.end], _EXAMPLE)


def _facts(place: _Place, row: _Row) -> Facts:
    kind, topic, part, path = place
    return {
        "kind": str(kind),
        "topic": topic,
        "part": str(part),
        "path": path,
        "confidence": row.median().name.lower(),
        "hits": row.hits,
        "written": row.producers.total,
        "read": row.consumers.total,
        "stored": row.stored,
        **{level.name.lower(): row.confidence[level] for level in sorted(Confidence, reverse=True)},
        "forms": [form for form, _ in row.forms.most_common()],
        "examples": list(row.examples),
        "producers": row.producers.facts(),
        "consumers": row.consumers.facts(),
        "clients_left_out": row.producers.left_out + row.consumers.left_out,
    }


def _order(row: Facts) -> tuple[Any, ...]:
    return row["topic"] or "", row["part"], row["path"], list(Kind).index(row["kind"])
