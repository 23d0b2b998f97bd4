"""Two tables that only the data source has: packets and TCP segments, before any connection."""

from kdissect.engine.rows import RowField
from kdissect.engine.tables.table import Table

_PLACE = (
    RowField("capture_set", "string", "the set of files, which is the place where it was captured"),
    RowField("file", "string", "path of the file"),
    RowField("packet", "int64", "number of the packet within its file, from 1"),
    RowField("time", "timestamp", "time of the packet, in microseconds; `time_ns` has all of it"),
    RowField("time_ns", "int64", "the same in nanoseconds since 1970 UTC"),
)

PACKETS = Table(
    "packets",
    "One row for each captured packet, link layer first.",
    (
        *_PLACE,
        RowField("link_type", "int32", "link type, by its number at tcpdump.org"),
        RowField("wire_length", "int64", "bytes on the wire"),
        RowField("data", "binary", "the packet as far as it was captured"),
    ),
    ("file", "packet"),
    ("file", "packet"),
)

SEGMENTS = Table(
    "segments",
    "One row for each TCP segment, in the order of the packets.",
    (
        *_PLACE,
        RowField("source", "string", "address and port of the sender"),
        RowField("destination", "string", "address and port of the receiver"),
        RowField("seq", "int64", "sequence number"),
        RowField("ack", "int64", "acknowledgment number"),
        RowField("flags", "int16", "flags, RFC 9293 section 3.1: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32"),
        RowField("window", "int32", "window as it stands in the header"),
        RowField("missing", "int32", "bytes of the payload that a snap length cut"),
        RowField("payload", "binary", "the payload as far as it was captured"),
    ),
    ("file", "packet"),
    ("file", "packet"),
)
