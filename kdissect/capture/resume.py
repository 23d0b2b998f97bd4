"""Reading a capture from its middle: the packets after a point of an earlier reading."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from kdissect.capture.formats.file_format import MAGIC_BYTES, parser_for
from kdissect.model.errors import CaptureError
from kdissect.model.packets.packet import PlainPacket

# Bytes read at a time: some hundred packets, decoded in less than a millisecond.
CHUNK = 1 << 17


class ResumePoint(NamedTuple):
    """A point after `packets` packets of a file, at byte `offset`. A parser must read `preamble` before."""

    packets: int
    offset: int
    preamble: bytes


START = ResumePoint(0, 0, b"")
"""The beginning of a file."""


def packets_behind(path: str, file: int, point: ResumePoint = START) -> Iterator[list[PlainPacket]]:
    """Yield the packets of an uncompressed file from a point on, in non-empty lists. `file` is its index.

    Raises CaptureError if the file cannot be read any more. A file that was changed since yields its present
    content.
    """
    try:
        with open(path, "rb", buffering=0) as source:  # noqa: PTH123  paths stay strings here
            kind = parser_for(point.preamble or source.read(MAGIC_BYTES))
            if kind is None:
                raise CaptureError(path, "it is no capture any more")
            parser = kind(file)
            if point.preamble:
                parser.resume(*point)
            source.seek(point.offset, os.SEEK_SET)
            while data := source.read(CHUNK):
                packets = parser.feed(data)
                if packets:
                    yield packets
                if parser.stopped:
                    return
    except OSError as error:
        raise CaptureError(path, error.strerror or str(error)) from None
