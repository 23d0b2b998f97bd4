"""Columns that several tables share."""

from kdissect.engine.exchange_rows import RowField

DAY = RowField("day", "date", "day of that time in UTC: for partitions")
CAPTURE_SET = RowField(
    "capture_set",
    "string",
    "the set of files, which is the place where it was captured. kdissect keeps sets separate",
)
CONNECTION = RowField("connection", "string", "identity of the connection: 16 hex digits")
EXCHANGE = RowField(
    "exchange",
    "int64",
    "ordinal of the request within its connection. Orphan responses from 1000000000 on",
)
SAME_AS = RowField(
    "same_as",
    "string",
    "connection that is this one, captured elsewhere, and counted instead",
)
ORDER = RowField(
    "event_order",
    "binary",
    "sort key: place among all events in the order in which one process reports them (`engine.event_order`)",
)
BROKER = RowField("broker", "string", "address and port of the broker")
ENDS = (RowField("client", "string", "address and port of the client"), BROKER)
TIME = (
    RowField("time", "timestamp", "time of the first byte, in microseconds; `time_ns` has all of it"),
    RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    DAY,
)
USE = (
    RowField("requests", "int64", "requests that named the topic"),
    RowField("batches", "int64", "record batches"),
    RowField("records", "int64", "records they say they have"),
    RowField("bytes", "int64", "bytes of the batches"),
    RowField("unconfirmed", "int64", "records of requests without an answer"),
    RowField("refused", "int64", "records the broker refused"),
    RowField("uncounted", "int64", "batches that do not say how many records they have"),
    RowField("acquired", "int64", "records that members of share groups acquired. Null if no member reads"),
    RowField(
        "acquired_unknown", "int64", "records of which the capture does not show whether they were acquired"
    ),
    RowField("errors", "map<string,int64>", "error codes by name"),
)
CLIENT = (
    RowField("principal", "string", "user the client authenticated as, where the mechanism shows it"),
    RowField("client_id", "string", "client id of the requests"),
    RowField("software", "string", "name and version the client gave in ApiVersions"),
    RowField("address", "string", "address of the client, without its port"),
)


def distribution(name: str, doc: str) -> tuple[RowField, ...]:
    """Return columns of a `sketches.distribution.Distribution`: exact figures and percentiles."""
    return (
        RowField(name, "struct", f"{doc}; null for none"),
        RowField(f"{name}.count", "int64", "values"),
        RowField(f"{name}.sum", "int64", "their sum"),
        RowField(f"{name}.min", "int64", "the least"),
        RowField(f"{name}.max", "int64", "the greatest"),
        RowField(f"{name}.p50", "int64", "nearest-rank percentile, at most 1 % off"),
        RowField(f"{name}.p90", "int64", "the same"),
        RowField(f"{name}.p95", "int64", "the same"),
        RowField(f"{name}.p99", "int64", "the same"),
        RowField(f"{name}.p999", "int64", "the same"),
    )


def sketch(name: str, doc: str) -> tuple[RowField, ...]:
    """Return the fields of a distribution with its sketch, so that rows merge."""
    return (
        *distribution(name, doc),
        RowField(f"{name}.zeros", "int64", "values that are 0: the sketch has no bin for them"),
        RowField(f"{name}.bins", "list<struct>", "bins that are not empty. Adding them up merges sketches"),
        RowField(f"{name}.bins.index", "int32", "bin of the DDSketch (relative error 0.01, no offset)"),
        RowField(f"{name}.bins.count", "int64", "values in it"),
    )
