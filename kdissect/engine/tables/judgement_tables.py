"""Tables with the results of `check`: findings, and coverage."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import CAPTURE_SET, CONNECTION, DAY
from kdissect.engine.tables.table import Table, within

FINDINGS = Table(
    "findings",
    "One row for each finding of `check`; equal findings are one row with a count.",
    (
        RowField("code", "string", "code of the rule"),
        RowField("name", "string", "name of the rule"),
        RowField("level", "string", "`must`, `should` or `info`: how strongly the source speaks"),
        RowField("claim", "string", "`malformed`, `refused` or `differs`"),
        RowField("severity", "string", "`error`, `warning` or `info`"),
        RowField("role", "string", "`client` or `broker`: whose bytes are judged"),
        RowField("address", "string", "address and port of that end"),
        RowField("software", "string", "what a client says it is"),
        RowField("version", "string", "version of that software"),
        RowField("client_id", "string", "client id of the connection"),
        RowField("label", "string", "what the user calls the end"),
        RowField("count", "int64", "how many equal findings it stands for"),
        CAPTURE_SET._replace(doc="capture set with the first finding"),
        CONNECTION._replace(doc="connection with the first finding"),
        RowField("exchange", "int64", "ordinal of its exchange. Null: the connection as a whole"),
        RowField("api_key", "int16", "API key. Null if there is none"),
        RowField("api", "string", "name of the API"),
        RowField("api_version", "int16", "version of the API"),
        RowField("side", "string", "`request` or `response`; null: neither"),
        RowField("file", "string", "capture file of the frame's first byte"),
        RowField("first_packet", "int64", "packet with that byte, 1-based within its file"),
        RowField("last_packet", "int64", "packet with the frame's last byte"),
        RowField("time", "timestamp", "time of the first byte"),
        RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        DAY,
        RowField("path", "string", "the field, as decoders name it. Null: the whole frame"),
        RowField("bytes_start", "int64", "offset of the first byte after the frame's size. Null: the frame"),
        RowField("bytes_end", "int64", "offset after the last byte"),
        RowField("bytes_seen", "binary", "the first of these bytes. None if they may hold a secret"),
        RowField("expected", "string", "what the rule expects"),
        RowField("seen", "string", "what was there"),
        RowField(
            "consequence", "string", "what the other end did, if the capture shows it. Null: no reaction"
        ),
        *within(
            "earlier",
            "struct",
            "the exchange that the expectation comes from. Null: the exchange of the finding",
            (
                RowField("connection", "string", "its connection"),
                RowField("exchange", "int64", "its ordinal"),
            ),
        ),
        RowField("last_time", "timestamp", "time of the last equal finding"),
        RowField("last_time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
        RowField("fingerprint", "string", "what is the same for this fault in different runs"),
    ),
    ("connection", "exchange", "code", "side", "path", "bytes_start", "expected", "seen"),
    ("time_ns", "connection", "exchange", "code", "side", "path", "bytes_start", "expected", "seen"),
)

COVERAGE = Table(
    "coverage",
    "Figures of a report besides its findings, one row each.",
    (
        RowField("what", "string", "what is counted: see the page"),
        RowField("names", "list<string>", "of what: see the page. Null if there is no such name"),
        RowField("numbers", "list<int64>", "of what, where that is a number"),
        RowField("count", "int64", "how many"),
    ),
    ("what", "names", "numbers"),
    ("what", "names", "numbers"),
)
