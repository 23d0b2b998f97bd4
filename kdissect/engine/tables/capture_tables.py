"""Tables of what was captured: files, connections, anomalies."""

from kdissect.engine.connection_rows import CONNECTION_FIELDS
from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import CAPTURE_SET, CONNECTION, DAY, EXCHANGE, ORDER
from kdissect.engine.tables.table import Table, within, without

FILES = Table(
    "files",
    "One row for each input, also for one that could not be read.",
    (
        CAPTURE_SET,
        RowField("file", "string", "path of the file, as other tables name it"),
        RowField("format", "string", "`pcap` or `pcapng`; null if the file is neither"),
        RowField("compression", "string", "`none`, `gzip`, `zstd`, `lz4`"),
        RowField("link_types", "list<string>", "link types that it declares"),
        RowField("size", "int64", "bytes on disk. Null for a stream"),
        RowField("packets", "int64", "packets that could be read"),
        RowField("bytes", "int64", "captured bytes of these packets"),
        RowField("dropped", "int64", "packets the capturing host says it lost (pcapng)"),
        RowField("first_time", "timestamp", "time of the first packet. Null without packets"),
        RowField("first_time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("last_time", "timestamp", "latest time of a packet"),
        RowField("last_time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("error", "string", "why it could not be read, or not beyond a point. Null otherwise"),
        *within(
            "anomalies",
            "list<struct>",
            "damage that was read over",
            (
                RowField("kind", "string", "kind of the anomaly"),
                RowField("detail", "string", "one line for people"),
            ),
        ),
    ),
    ("capture_set", "file"),
    ("capture_set", "first_time_ns", "file"),
)

CONNECTIONS = Table(
    "connections",
    "One row for each TCP connection, opaque ones too.",
    (
        *without(
            CONNECTION_FIELDS,
            "number",
            types={"start": "timestamp", "tls.alerts": "map<string,int64>", "anomalies": "map<string,int64>"},
        ),
        ORDER,
        DAY._replace(doc="day of its first packet in UTC: for partitions"),
        RowField(
            "cluster",
            "string",
            "id of the cluster that its responses named last (Metadata, DescribeCluster, ApiVersions). Null "
            "if none did",
        ),
    ),
    ("connection",),
    ("event_order",),
)

ANOMALIES = Table(
    "anomalies",
    "One row for each thing that is odd about files, connections, exchanges and the records in them.",
    (
        CAPTURE_SET,
        RowField(
            "scope",
            "string",
            "`file`, `connection`, `exchange`, or `records` (what shows without decompressing): what has it",
        ),
        CONNECTION._replace(doc="the connection. Null for files"),
        EXCHANGE._replace(doc="ordinal of the exchange. Null for files and connections"),
        RowField("index", "int32", "number among the anomalies of the same thing, from 0"),
        RowField("kind", "string", "kind of the anomaly"),
        RowField("detail", "string", "one line for people"),
        RowField("file", "string", "the file it was seen in. Null if that is not known"),
        RowField("packet", "int64", "the packet, 1-based within the file"),
        RowField("time", "timestamp", "its time. Null if that is not known"),
        RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
    ),
    ("capture_set", "scope", "file", "connection", "exchange", "index"),
    ("capture_set", "connection", "exchange", "scope", "file", "index"),
)
