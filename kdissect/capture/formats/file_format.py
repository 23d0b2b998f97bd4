"""The kind of a file by its first bytes."""

from kdissect.capture.formats.capture_parser import PCAPNG_MAGIC, CaptureParser
from kdissect.capture.formats.pcap import MAGICS, PcapParser

MAGIC_BYTES = 4

# Kinds of files people hand over by mistake, by their first bytes, so that the message can name them.
_OTHER_KINDS = (
    (b"\x1f\x8b", "gzip data inside compressed data"),
    (b"\xfd7zX", "xz compressed; unpack it first"),
    (b"BZh", "bzip2 compressed; unpack it first"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"snoo", "a Solaris snoop capture; convert it with editcap"),
    (b"GMBU", "a Network Monitor capture; convert it with editcap"),
    (b"RTSS", "a Network Monitor capture; convert it with editcap"),
    (b"\x1c\x00\x01\xab", "an IXIA capture; convert it with editcap"),
    (b"\x1c\x00\x01\xac", "an IXIA capture; convert it with editcap"),
    (b"\x7fELF", "a program"),
    (b"PAR1", "a Parquet file"),
)


def parser_for(head: bytes) -> type[CaptureParser] | None:
    """Return the parser for a file that begins with `head` (4 bytes are enough), None when it is no
    capture.
    """
    if head[:MAGIC_BYTES] == PCAPNG_MAGIC:
        # Start-up: a capture is one or the other.
        from kdissect.capture.formats.pcapng import PcapngParser

        return PcapngParser
    return PcapParser if head[:MAGIC_BYTES] in MAGICS else None


def describe_other(head: bytes) -> str:
    """Describe for people the likely kind of a file that is no capture."""
    if not head:
        return "the file is empty"
    for magic, name in _OTHER_KINDS:
        if head.startswith(magic):
            return f"not a capture, but {name}"
    shown = head[:MAGIC_BYTES]
    if all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in shown):
        return "not a capture, but text"
    return f"not a capture: it begins with {shown.hex(' ')}"
