"""The kind of a file by its first bytes."""

from collections.abc import Iterable

from kdissect.capture.formats.capture_parser import (
    PCAPNG_MAGIC,
    PROXY_LOG_MARKERS,
    REQUEST_LOG_MARKER,
    CaptureParser,
)
from kdissect.capture.formats.pcap import MAGICS, PcapParser

MAGIC_BYTES = 4
# Bytes at the beginning of a text in which a request must begin, if it is a request log.
TEXT_BYTES = 1 << 16

# Kinds of files people hand over by mistake, by their first bytes, so that the message can name them.
_OTHER_KINDS = (
    (b"\x1f\x8b", "gzip data inside compressed data"),
    (b"\xfd7zX", "xz compressed: unpack it first"),
    (b"BZh", "bzip2 compressed: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"snoo", "a Solaris snoop capture: convert it with editcap"),
    (b"GMBU", "a Network Monitor capture: convert it with editcap"),
    (b"RTSS", "a Network Monitor capture: convert it with editcap"),
    (b"\x1c\x00\x01\xab", "an IXIA capture: convert it with editcap"),
    (b"\x1c\x00\x01\xac", "an IXIA capture: convert it with editcap"),
    (b"\x7fELF", "a program"),
    (b"PAR1", "a Parquet file"),
)


def parser_for(head: bytes) -> type[CaptureParser] | None:
    """Return the parser for a file that begins with `head` (`is_enough`), or None if it is no capture."""
    if head[:MAGIC_BYTES] == PCAPNG_MAGIC:
        # Start-up: a capture is one or the other.
        from kdissect.capture.formats.pcapng import PcapngParser

        return PcapngParser
    if head[:MAGIC_BYTES] in MAGICS:
        return PcapParser
    first = _first_of((REQUEST_LOG_MARKER,), head)
    if first < _first_of(PROXY_LOG_MARKERS, head):
        # Start-up: it loads what encodes messages.
        from kdissect.capture.formats.request_log import RequestLogParser

        return RequestLogParser
    if _first_of(PROXY_LOG_MARKERS, head) < len(head):
        # Start-up: the same.
        from kdissect.capture.formats.proxy_log import ProxyLogParser

        return ProxyLogParser
    return None


def _first_of(markers: Iterable[bytes], head: bytes) -> int:
    """Return where the first of these is in the bytes; their length without one."""
    return min((at for marker in markers if (at := head.find(marker)) >= 0), default=len(head))


def is_enough(head: bytes) -> bool:
    """Return whether more bytes cannot change what `parser_for` says of a file that begins with `head`."""
    if len(head) < MAGIC_BYTES:
        return False
    magic = head[:MAGIC_BYTES]
    if magic == PCAPNG_MAGIC or not _is_text(magic):
        return True
    return len(head) >= TEXT_BYTES or any(
        marker in head for marker in (REQUEST_LOG_MARKER, *PROXY_LOG_MARKERS)
    )


def _is_text(shown: bytes) -> bool:
    return all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in shown)


def describe_other(head: bytes) -> str:
    """Describe for people the likely kind of a file that is no capture."""
    if not head:
        return "the file is empty"
    for magic, name in _OTHER_KINDS:
        if head.startswith(magic):
            return f"not a capture, but {name}"
    shown = head[:MAGIC_BYTES]
    if _is_text(shown):
        return "not a capture, but text"
    return f"not a capture: it begins with {shown.hex(' ')}"
