"""The one schema of record rows: names, types and meanings, for JSON, tables, Arrow and Parquet."""

from kdissect.engine.exchange_rows import RowField

_VALUE = "text, or as `--{0}-format` says (hex, base64, json). Bytes that are not UTF-8 as base64"


def _of_schema(part: str) -> tuple[RowField, ...]:
    """Return the columns about the schema of a key or value."""
    return (
        RowField(
            f"{part}_wire_format",
            "string",
            f"how the {part} says which schema it has (docs/schemas.md): `confluent`, `confluent_header`, "
            "`apicurio`, `apicurio_global_id`, `apicurio_content_id` or `glue`; `maybe_confluent` and "
            "`maybe_apicurio` are guesses: any bytes may begin so. Null without an id",
        ),
        RowField(f"{part}_schema_id", "int64", f"the {part}'s schema id. Null without one"),
        RowField(f"{part}_schema_guid", "string", f"the {part}'s schema GUID; null without one"),
        RowField(
            f"{part}_message_indexes",
            "string",
            "Protobuf message indexes behind the id, such as `0` or `1,0`; null unless a header or the "
            "schema proves them",
        ),
        RowField(
            f"{part}_schema",
            "string",
            f"with --schemas: the schema that decodes the {part}, by subject and version or by its file",
        ),
        RowField(
            f"{part}_error", "string", f"with --schemas: why no schema decodes the {part}; null if one does"
        ),
    )


SCHEMA_FIELDS = (*_of_schema("key"), *_of_schema("value"))
"""Columns that are computed only if they are named: by `-e`, or as a column of the table `records`."""
SCHEMA_COLUMNS = frozenset(field.name for field in SCHEMA_FIELDS)

RECORD_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output, for presentation only"),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField("exchange", "int64", "ordinal of the request within its connection"),
    RowField("direction", "string", "`produce`, `fetch`, `share_fetch` or `fetch_snapshot`"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of the broker"),
    RowField("client_id", "string", "client id of the request header. Null if there is none"),
    RowField("principal", "string", "as whom the client logged in (SASL). Null if that was not seen"),
    RowField("software", "string", "name and version that the client gave in ApiVersions. Null without"),
    RowField("file", "string", "capture file of the frame's first byte"),
    RowField("packet", "int64", "packet with the frame's first byte, 1-based within its file"),
    RowField("time", "string", "time of that packet, RFC 3339 with nanoseconds"),
    RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    RowField(
        "topic", "string", "name of the topic, also for its id, if the capture or `--topic-ids` names it"
    ),
    RowField("topic_id", "string", "id of the topic. Null if the wire has its name"),
    RowField("partition", "int32", "partition of the topic"),
    RowField("batch", "int32", "index of the batch within the partition's records in this exchange"),
    RowField("record", "int32", "index of the record within its batch, counting readable records"),
    RowField(
        "offset",
        "int64",
        "offset of the record in the log. For a produced record the offset that the broker assigned, null if "
        "no response says it",
    ),
    RowField(
        "raw_offset",
        "int64",
        "offset in the bytes of the record. In a produce request counted from the batch's base offset",
    ),
    RowField("timestamp", "string", "the record's timestamp, RFC 3339; null where it has none"),
    RowField("timestamp_ms", "int64", "this time in milliseconds since 1970 UTC"),
    RowField("timestamp_type", "string", "`create_time` or `log_append_time`; null for magic 0"),
    RowField("key", "string", f"the key: {_VALUE.format('key')}; null for null"),
    RowField("value", "string", f"the value: {_VALUE.format('value')}; null for null"),
    RowField("headers", "list<struct>", "headers in their order"),
    RowField("headers.key", "string", "key of a header"),
    RowField("headers.value", "string", "its value, in the form of `value`; null for null"),
    RowField("key_bytes", "int32", "length of the key. Null for null"),
    RowField("value_bytes", "int32", "length of the value. Null for null"),
    RowField("producer_id", "int64", "id of an idempotent producer, else null"),
    RowField("producer_epoch", "int16", "its epoch"),
    RowField("sequence", "int32", "the record's sequence number. Null without one"),
    RowField("transactional", "bool", "whether the record belongs to a transaction"),
    RowField(
        "control", "string", "for control records what they say: `commit`, `abort`, `leader_change` ..."
    ),
    RowField("codec", "string", "compression of the batch: `none`, `gzip`, `snappy`, `lz4`, `zstd`"),
    RowField("magic", "int8", "format of the batch: 0, 1 or 2"),
    RowField("leader_epoch", "int32", "the partition's leader epoch in the batch. Null if it has none"),
    RowField("crc_ok", "bool", "whether the batch's checksum is right"),
    RowField(
        "acquired",
        "bool",
        "only in `share_fetch`: whether the member acquires the record, or the response only carries "
        "it. Null if"
        "that was not captured",
    ),
    RowField(
        "delivery_count",
        "int16",
        "only in `share_fetch`: which delivery of the record this is. Null unless acquired",
    ),
    *SCHEMA_FIELDS,
    RowField(
        "decoded",
        "struct",
        "only for records of Kafka's own topics, control records, and with --schemas: what they hold",
    ),
    RowField("decoded.key", "struct", "the key decoded. Null if it has no format"),
    RowField("decoded.value", "struct", "the value decoded. Null if it has no format"),
)
