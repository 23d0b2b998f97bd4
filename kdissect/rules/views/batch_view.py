"""Record batches under judgement: where they stand, and their records when somebody needs them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from kdissect.decoders.payloads.internal_records import RecordPayloads, decode_record, record_log
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.decoders.records.canonical_batch import are_canonical
from kdissect.decoders.records.message_set import inner_messages
from kdissect.decoders.records.reader import decompressed, iter_records
from kdissect.engine.records.internal_forms import may_hold_secrets_of
from kdissect.engine.records.record_sets import FieldBatches
from kdissect.history.sessions.fetch_parts import UNKNOWN_EPOCH
from kdissect.model.record_batch import CODEC_MASK, Record, RecordBatch, RecordFault
from kdissect.rules.rule import Violation
from kdissect.rules.views.body_view import Body

# Number of records in a batch that are checked one by one. Faults repeat from record to record, and a batch
# of 1 MiB may hold 150,000: 200 bytes each while the batch is judged.
MOST_RECORDS = 20_000
PRODUCE = 0  # org.apache.kafka.common.protocol.ApiKeys
# Where records stand: the fields of topics, partitions and records, by API.
_FIELDS = {
    "Produce": ("topic_data", "partition_data", "records"),
    "Fetch": ("responses", "partitions", "records"),
    "ShareFetch": ("responses", "partitions", "records"),
    "FetchSnapshot": ("topics", "partitions", "unaligned_records"),
}
# Width of a batch header's fields, and their offsets: spec/001 "5.3.1 Record Batch".
_SPANS = {
    "base_offset": (0, 8), "length": (8, 4), "leader_epoch": (12, 4), "magic": (16, 1), "crc": (17, 4),
    "attributes": (21, 2),
    "last_offset_delta": (23, 4), "base_timestamp": (27, 8), "max_timestamp": (35, 8),
    "producer_id": (43, 8), "count": (57, 4),
}  # fmt: skip
# spec/001 "5.3.3 Old Message Format"; `count` is not there.
_OLD_SPANS = {
    "base_offset": (0, 8), "length": (8, 4), "crc": (12, 4), "magic": (16, 1), "attributes": (17, 1),
    "max_timestamp": (18, 8),
}  # fmt: skip


Asked = tuple[int, int] | None
"""The offset and the leader epoch (-1: unknown) that a Fetch asks for of a partition; None if it does not."""


class Carrier:
    """A body that carries records, and what rules need of the request it answers."""

    __slots__ = ("_places", "body")

    def __init__(self, body: Body) -> None:
        self.body = body
        self._places: dict[tuple[object, int | None], tuple[int, int]] | None = None

    def asked(self, topic: Any, partition: int) -> Asked:
        """Return the offset and epoch that a Fetch requested; None if its request leaves that to
        the session.
        """
        known = identity(topic)
        if self._places is None:
            self._places = asked_places(self.body.other(), known)
        return self._places.get((known, partition))


class Records:
    """The records field of one partition.

    `topic` and `partition` are the values around it, `path` is its path below the body, `name` the topic's
    name if it is known.
    """

    __slots__ = ("body", "carrier", "found", "is_produce", "name", "partition", "path", "topic")

    def __init__(
        self, carrier: Carrier, found: FieldBatches, place: tuple[Any, Any, str], name: str | None
    ) -> None:
        self.carrier = carrier
        self.body = carrier.body
        self.found = found
        self.topic, self.partition, self.path = place
        self.name = name
        self.is_produce = self.body.exchange.api_key == PRODUCE
        """Whether a client sends them to be stored. If not, a broker returns stored batches."""

    def violation(self, fault: RecordFault, expected: str) -> Violation:
        """Return the fault of bytes between the batches."""
        path = f"{self.path}.{fault.path}".rstrip(".")
        end = self.shown(fault.offset, self.found.records_field.end)
        return Violation(expected, fault.why, path, fault.offset, end, self.body.side)

    def shown(self, start: int, end: int) -> int:
        """Return the end of the bytes that a finding may show: the start for records that may contain
        secrets.
        """
        return start if may_hold_secrets_of(self.name) else end


class Batch:
    """One batch of magic 2, or one outer message of an old message set.

    `before` is the batch in front of it, None for the first.
    """

    __slots__ = ("_payloads", "_records", "batch", "before", "faults", "index", "records")

    def __init__(self, records: Records, index: int) -> None:
        batches = records.found.found.batches
        self.records = records
        self.index = index
        self.batch: RecordBatch = batches[index]
        self.before: RecordBatch | None = batches[index - 1] if index else None
        self.faults: list[RecordFault] = list(self.batch.faults)
        """Defects of the batch. Reading the records adds defects inside."""
        self._records: list[Record] | None = None
        self._payloads: list[RecordPayloads] | None = None

    @property
    def body(self) -> Body:
        """The message around it."""
        return self.records.body

    @property
    def version(self) -> int:
        """That of the message."""
        return self.records.body.version

    @property
    def is_current(self) -> bool:
        """Whether it is of magic 2."""
        return self.batch.magic == CURRENT_MAGIC

    @property
    def content(self) -> list[Record]:
        """The first records, as far as they fit, decoded on first use."""
        if self._records is None:
            found = iter_records(self.batch, self.faults)
            self._records = list(islice(found, MOST_RECORDS))
        return self._records

    def read(self) -> None:
        """Read the records, and find what does not fit in them."""
        _ = self.content

    @property
    def is_whole(self) -> bool:
        """Whether all its records were read."""
        return not self.faults and len(self.content) < MOST_RECORDS

    @property
    def payloads(self) -> list[RecordPayloads]:
        """Keys and values of records in Kafka's own logs; empty for users' records."""
        if self._payloads is None:
            name, is_control = self.records.name, self.batch.is_control
            known = record_log(name, is_control) is not None
            self._payloads = [
                decode_record(name, record.key, record.value, is_control)
                for record in (self.content if known else ())
            ]
        return self._payloads

    def inner(self) -> Iterator[RecordBatch]:
        """Return the messages inside a compressed message, as they stand there."""
        return inner_messages(self.batch, [], None)

    def violation(self, field: str, expected: object, seen: object) -> Violation:
        """Return the fault of a header field."""
        batch = self.batch
        at, width = (_SPANS if self.is_current else _OLD_SPANS)[field]
        start = batch.start + at
        return Violation(
            str(expected), str(seen), self._path(field), start, start + width, self.records.body.side
        )

    def inside(self, part: str, expected: object, seen: object) -> Violation:
        """Return the fault of something in the records."""
        start = self.batch.records_start
        return self._violation(part, start, str(expected), str(seen))

    def malformed(self, fault: RecordFault, expected: str) -> Violation:
        """Return the fault of bytes that do not fit."""
        if fault.inside:
            seen = f"{fault.why}, at byte {fault.offset} of the decompressed records"
            return self.inside(fault.path, expected, seen)
        if fault.path in (_SPANS if self.is_current else _OLD_SPANS):
            return self.violation(fault.path, expected, fault.why)
        return self._violation(fault.path, fault.offset, expected, fault.why)

    def _violation(self, part: str, start: int, expected: str, seen: str) -> Violation:
        end = self.records.shown(start, self.batch.end)
        return Violation(expected, seen, self._path(part), start, end, self.records.body.side)

    def _path(self, part: str) -> str:
        return f"{self.records.path}.batches[{self.index}].{part}"


def has_canonical_content(batch: RecordBatch, *, dense: bool) -> bool:
    """Return whether a magic 2 batch has canonical records (`records.canonical_batch`)."""
    if not batch.attributes & CODEC_MASK:
        return are_canonical(batch, batch.data, batch.records_start, batch.end, dense=dense)
    faults: list[RecordFault] = []  # a frame that some readers refuse has its content besides the fault
    content = decompressed(batch, faults)
    if content is None or faults:
        return False
    return are_canonical(batch, content, 0, len(content), dense=dense)


def places(body: Body) -> Iterator[tuple[Any, Any, str]]:
    """Yield the topic, partition and path of each records field that is not null, in the order of the
    wire.
    """
    fields = _FIELDS.get(body.api.name)
    if fields is None:
        return
    topics, partitions, records = fields
    for at, topic in enumerate(getattr(body.value, topics) or ()):
        for index, partition in enumerate(getattr(topic, partitions) or ()):
            if getattr(partition, records) is not None:
                yield topic, partition, f"{topics}[{at}].{partitions}[{index}].{records}"


def identity(topic: Any) -> object:
    """Return a topic's name or id, whichever the version has."""
    return next(
        (getattr(topic, field) for field in ("topic_id", "topic", "name") if hasattr(topic, field)), None
    )


def asked_places(request: Any, like: object) -> dict[tuple[object, int | None], tuple[int, int]]:
    """Return the offsets and epochs that a Fetch requests for its partitions, by the topic's name or id,
    whichever `like` is.
    """
    field = _identified_by(like)
    return {
        (getattr(topic, field, None), row.partition): _asked(row)
        for topic in getattr(request, "topics", None) or ()
        for row in topic.partitions or ()
    }


def asked_place(request: Any, known: object, partition: int | None) -> Asked:
    """Return the offset and epoch that a Fetch requests for one partition, in a topic by its name or id.

    For a repeated partition the last one counts, as in `asked_places`.
    """
    found: Asked = None
    field = _identified_by(known)
    for topic in getattr(request, "topics", None) or ():
        if getattr(topic, field, None) == known:
            for row in topic.partitions or ():
                if row.partition == partition:
                    found = _asked(row)
    return found


def is_beyond(leader_epoch: int, asked: Asked) -> bool:
    """Return whether a batch has a higher leader epoch than its leader, by the request."""
    return asked is not None and leader_epoch > asked[1] >= 0


def _asked(row: Any) -> tuple[int, int]:
    return row.fetch_offset, getattr(row, "current_leader_epoch", UNKNOWN_EPOCH)


def _identified_by(known: object) -> str:
    """Return the field of a topic in a Fetch. Versions have one of two fields, and `hasattr` is slow."""
    return "topic_id" if isinstance(known, bytes) else "topic"
