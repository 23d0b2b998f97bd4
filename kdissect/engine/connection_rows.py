"""One row for each TCP connection: names, types and meanings, for JSON and tables alike."""

from kdissect.engine.rows import Row, RowField
from kdissect.engine.times import rfc3339
from kdissect.session.info import ConnectionInfo

CONNECTION_FIELDS = (
    RowField("number", "int64", "1-based number of the row in this output; presentation only"),
    RowField("connection", "string", "identity of the connection: 16 hex digits"),
    RowField("capture_set", "string", "the set of files the connection was captured in"),
    RowField("client", "string", "address and port of the client"),
    RowField("broker", "string", "address and port of the broker"),
    RowField("kind", "string", "`kafka`, or what else was recognised: `tls`, `http`, `ssh` ..."),
    RowField("client_id", "string", "client id of the first request that has one"),
    RowField("software", "string", "name and version the client gave in ApiVersions"),
    RowField("principal", "string", "user the client authenticated as, where the mechanism shows it"),
    RowField("mechanism", "string", "SASL mechanism"),
    RowField("start", "string", "time of the first packet, RFC 3339 with nanoseconds"),
    RowField("start_ns", "int64", "the same in nanoseconds since 1970 UTC"),
    RowField("duration_ns", "int64", "from the first packet to the last"),
    RowField("middle_start", "bool", "whether the capture began after the connection did"),
    RowField("exchanges", "int64", "exchanges on the connection"),
    RowField("unanswered", "int64", "those of them without a response, though one was expected"),
    RowField("packets", "int64", "TCP segments in both directions"),
    RowField("client_bytes", "int64", "payload bytes from the client, as captured"),
    RowField("broker_bytes", "int64", "payload bytes from the broker, as captured"),
    RowField("gaps", "int64", "holes in the streams: bytes that were not captured"),
    RowField("gap_bytes", "int64", "bytes in these holes"),
    RowField("retransmissions", "int64", "segments sent again"),
    RowField("out_of_order", "int64", "segments that came behind later ones"),
    RowField("duplicates", "int64", "packets captured twice"),
    RowField("zero_windows", "int64", "segments that told the other side to stop sending"),
    RowField("resets", "int64", "segments with RST"),
    RowField("closed", "struct", "how the connection ended; null while it is open"),
    RowField("closed.by", "string", "`client`, `broker`, or null if neither was seen to close"),
    RowField("closed.how", "string", "`fin`, `rst`, `idle`, `reused` or `capture_end`"),
    RowField("anomalies", "struct", "how many anomalies of each kind"),
)


def connection_row(number: int, info: ConnectionInfo) -> Row:
    """The row of a connection that is over."""
    tcp, close = info.tcp, info.close
    software = [part for part in (info.software_name, info.software_version) if part]
    row: Row = {
        "number": number,
        "connection": info.id,
        "capture_set": info.capture_set,
        "client": info.client_text,
        "broker": info.broker_text,
        "kind": info.kind,
        "client_id": info.client_id,
        "software": " ".join(software) or None,
        "principal": info.principal,
        "mechanism": info.mechanism,
        "start": rfc3339(info.start_ns),
        "start_ns": info.start_ns,
        "duration_ns": info.end_ns - info.start_ns,
        "middle_start": info.middle_start,
        "exchanges": info.exchanges,
        "unanswered": info.states["unanswered"],
    }
    for name in _TCP:
        row[name] = None if tcp is None else getattr(tcp, name)
    row["closed"] = None if close is None else {"by": close.by, "how": close.how}
    row["anomalies"] = {str(kind): count for kind, count in info.anomaly_counts.items()}
    return row


_TCP = (
    "packets", "client_bytes", "broker_bytes", "gaps", "gap_bytes", "retransmissions", "out_of_order",
    "duplicates", "zero_windows", "resets",
)  # fmt: skip
