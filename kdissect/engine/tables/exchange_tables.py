"""Tables of exchanges, and of the record batches and records in them."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.listed_rows import LISTED_FIELDS
from kdissect.engine.records.record_fields import RECORD_FIELDS
from kdissect.engine.segments.segment_rows import SEGMENT_BATCH_FIELDS
from kdissect.engine.tables.shared_columns import (
    CAPTURE_SET,
    CONNECTION,
    ENDS,
    EXCHANGE,
    ORDER,
    SAME_AS,
    TIME,
)
from kdissect.engine.tables.table import Table, with_times, without

_SIDES = ("request", "response")

EXCHANGES = Table(
    "exchanges",
    "One row for each exchange: a request and what became of it.",
    (
        *with_times(
            without(
                LISTED_FIELDS,
                "number",
                "processes",
                *(f"{side}.{part}" for side in _SIDES for part in ("body", "error")),
                types={f"{side}.time": "timestamp" for side in _SIDES},
            ),
            *(f"{side}.end_time_ns" for side in _SIDES),
        ),
        SAME_AS,
        ORDER,
        *TIME,
    ),
    ("connection", "exchange"),
    ("event_order",),
)

_HEAD = (
    CAPTURE_SET,
    CONNECTION,
    EXCHANGE,
    RowField("direction", "string", "`produce`, `fetch`, `share_fetch` or `fetch_snapshot`"),
    *ENDS,
    RowField("client_id", "string", "client id of the request header. Null if there is none"),
    RowField("file", "string", "capture file that has the first byte of the frame with the records"),
    RowField("packet", "int64", "packet with that byte, 1-based within its file"),
    *TIME,
    RowField("topic", "string", "name of the topic, also for its id, if the capture names it"),
    RowField("topic_id", "string", "id of the topic. Null if the wire has its name"),
    RowField("partition", "int32", "partition of the topic"),
    RowField("section", "int32", "position of the partition's records in the exchange, from 0"),
)
_PLACE = ("connection", "exchange", "section")

TOPIC_PARTITIONS = Table(
    "topic_partitions",
    "One row for each partition whose records an exchange carries, empty ones too.",
    (
        *_HEAD,
        RowField("error", "string", "error code of the partition in the response. Null for none"),
        RowField("batches", "int32", "record batches, or messages of old message sets"),
        RowField("records", "int64", "records they say they have"),
        RowField("bytes", "int64", "bytes of the records field, as captured"),
        RowField("first_offset", "int64", "base offset of the first batch. Null without one"),
        RowField("last_offset", "int64", "last offset of the last batch. Null without one"),
        ORDER,
    ),
    _PLACE,
    ("event_order", "section"),
)

_OF_SEGMENTS = ("number", "file", "topic", "partition", "position", "records")
BATCHES = Table(
    "batches",
    "One row for each record batch, or message of an old message set. kdissect decompresses no batches "
    "for them.",
    (
        *_HEAD,
        *with_times(
            without(SEGMENT_BATCH_FIELDS, *_OF_SEGMENTS, types={"max_timestamp": "timestamp"}),
            "base_timestamp_ms",
            "delete_horizon_ms",
        ),
        ORDER,
    ),
    (*_PLACE, "batch"),
    ("event_order", "section", "batch"),
)

_SHARED = ("number", *(field.name for field in _HEAD))
_RECORD_TYPES = {
    "key": "binary", "value": "binary", "headers.value": "binary", "timestamp": "timestamp",
    "decoded": "string",
}  # fmt: skip
_RECORD_DOCS = {
    "key": "the key's bytes. Null for null",
    "value": "the value's bytes. Null for null",
    "headers.value": "its value. Null for null",
    "timestamp": "the record's timestamp. Null if it has none, or if it is no date",
    "decoded": "JSON: what a record of Kafka's own topics, a control record, or with --schemas any holds",
}
_OF_RECORDS = without(RECORD_FIELDS, *_SHARED, "decoded.key", "decoded.value", types=_RECORD_TYPES)
RECORDS = Table(
    "records",
    "One row for each record that can be read. Made only when asked for: it is the bulk of the bytes.",
    (
        *_HEAD,
        *(field._replace(doc=_RECORD_DOCS.get(field.name, field.doc)) for field in _OF_RECORDS),
        ORDER,
    ),
    (*_PLACE, "batch", "record"),
    ("event_order", "section", "batch", "record"),
)
