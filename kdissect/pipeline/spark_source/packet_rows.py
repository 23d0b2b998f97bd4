"""Rows of `packets` and `segments` as Arrow record batches, from one file."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.tables.arrow import arrow_schema
from kdissect.model.commented import without_comments
from kdissect.model.packet import NUMBER_MASK, PlainPacket
from kdissect.model.segment import flow_endpoints
from kdissect.net.parser import SegmentParser
from kdissect.pipeline.spark_source.packet_tables import PACKETS, SEGMENTS

_US = 1000  # nanoseconds


def packet_batches(file: CaptureFile, name: str) -> Iterator[Any]:
    """The packets of a file; what is wrong with it stands in the table of files."""
    schema = arrow_schema(PACKETS)
    for packets in file.batches():
        yield _batch(schema, [_packet(file, name, packet) for packet in packets])


def segment_batches(file: CaptureFile, name: str) -> Iterator[Any]:
    """The TCP segments of a file. IP fragments of another file are not joined to those of this one."""
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
