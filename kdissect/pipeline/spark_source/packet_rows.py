"""The tables `packets` and `segments`, which only the data source has, and their rows from one file."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.engine.tables.table import Table
from kdissect.model.packets.commented import without_comments
from kdissect.model.packets.packet import NUMBER_MASK, PlainPacket
from kdissect.model.packets.segment import flow_endpoints
from kdissect.net.parser import SegmentParser

_PLACE = (
    RowField("capture_set", "string", "the set of files, which is the place where it was captured"),
    RowField("file", "string", "path of the file"),
    RowField("packet", "int64", "number of the packet within its file, from 1"),
    RowField("time", "timestamp", "time of the packet, in microseconds; `time_ns` has all of it"),
    RowField("time_ns", "int64", "this time in nanoseconds since 1970 UTC"),
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
        RowField("window", "int32", "window as it is in the header"),
        RowField("missing", "int32", "bytes of the payload that a snap length cut"),
        RowField("payload", "binary", "the payload as far as it was captured"),
    ),
    ("file", "packet"),
    ("file", "packet"),
)


_US = 1000  # nanoseconds


def packet_batches(file: CaptureFile, name: str) -> Iterator[Any]:
    """Yield the packets of a file. The table of files lists its errors."""
    schema = arrow_schema(PACKETS)
    for packets in file.batches():
        yield _batch(schema, [_packet(file, name, packet) for packet in packets])


def segment_batches(file: CaptureFile, name: str) -> Iterator[Any]:
    """Yield the TCP segments of a file. IP fragments are joined only within one file."""
    schema = arrow_schema(SEGMENTS)
    parser = SegmentParser()
    for packets in file.batches():
        rows = [
            _segment(file, name, packet, segment)
            for packet, segment in zip(packets, parser.parse_batch(packets), strict=True)
            if segment is not None
        ]
        if rows:
            yield _batch(schema, rows)


def _packet(file: CaptureFile, name: str, packet: PlainPacket) -> tuple[Any, ...]:
    _, _, marked, commented, wire_length = packet
    link_type, data = without_comments(marked, commented)
    return *_place(file, name, packet), link_type, wire_length, data


def _segment(file: CaptureFile, name: str, packet: PlainPacket, segment: Any) -> tuple[Any, ...]:
    flow, seq, ack, flags, window, payload, missing, _ = segment
    source, destination = _ends(flow)
    return (*_place(file, name, packet), source, destination, seq, ack, flags, window, missing, payload)


def _place(file: CaptureFile, name: str, packet: PlainPacket) -> tuple[Any, ...]:
    ref, time_ns, _, _, _ = packet
    return file.capture_set, name, ref & NUMBER_MASK, time_ns // _US, time_ns


@lru_cache(maxsize=4096)
def _ends(flow: bytes) -> tuple[str, str]:
    source, destination = flow_endpoints(flow)
    return str(source), str(destination)


def _batch(schema: Any, rows: list[tuple[Any, ...]]) -> Any:
    columns = [
        pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
