"""The settings of a live capture: its packets and its target."""

from collections.abc import Sequence
from typing import NamedTuple

from kdissect.model.errors import KdissectError

# Kernel buffer in MiB. dumpcap's own default of 2 MiB is 20 ms of 100 MB/s: less than a scheduler may take.
BUFFER_MIB = 64
# libpcap MAXIMUM_SNAPLEN: whole packets, also 64 KiB packets of loopback and segmentation offload.
SNAPLEN = 262144

AUTO, STDIN = "auto", "stdin"
LIBPCAP, DUMPCAP, TCPDUMP, SCAPY = "libpcap", "dumpcap", "tcpdump", "scapy"
SOURCES = (AUTO, LIBPCAP, DUMPCAP, TCPDUMP, SCAPY)


class Ring(NamedTuple):
    """When to go on to the next file, and how many to keep; 0: no such limit.

    `total_bytes` and `total_seconds` bound all files of the ring together, with files of earlier runs.
    """

    bytes: int = 0
    seconds: float = 0
    keep: int = 0
    total_bytes: int = 0
    total_seconds: float = 0

    @property
    def is_rotated(self) -> bool:
        """Whether there is more than one file."""
        return bool(self.bytes or self.seconds)

    @property
    def is_bounded(self) -> bool:
        """Whether old files are removed for new ones, after a full disk and in a later run, too."""
        return bool(self.total_bytes or self.total_seconds)


class LiveSettings(NamedTuple):
    """Settings of a live capture.

    `interfaces` by name, none for a default. `capture_filter` in libpcap's language. `path` of the capture
    file to write (None: no file). `duration` in seconds (0: until it is ended). `program` is the capturing
    program, with its version, for the comment of the file. `user` is the one to go on as once the capture is
    open; empty: no change. With `headers_only` the file has no content of packets. The analysis has it.
    """

    interfaces: Sequence[str] = ()
    capture_filter: str = ""
    source: str = AUTO
    promiscuous: bool = False
    snaplen: int = SNAPLEN
    buffer_mib: int = BUFFER_MIB
    path: str | None = None
    ring: Ring = Ring()
    duration: float = 0
    program: str = "kdissect"
    user: str = ""
    headers_only: bool = False

    def comment(self, source: str) -> str:
        """Return the comment of the capture file with the settings, so that the capture can be repeated from
        the file alone.
        """
        parts = [
            f"{self.program} live",
            f"interfaces: {', '.join(self.interfaces) or 'standard input'}",
            f"capture filter: {self.capture_filter or 'none'}",
            f"source: {source}",
            f"snapshot length: {self.snaplen}",
            f"promiscuous: {'yes' if self.promiscuous else 'no'}",
        ]
        if self.headers_only:
            parts.append("packets are cut after their TCP headers")
        return "; ".join(parts)


class LiveError(KdissectError):
    """A capture cannot be started. The message is one line with the fix if it is known."""


class BadOptionsError(LiveError):
    """Options that contradict each other."""


class BadFilterError(BadOptionsError):
    """A capture filter that libpcap does not understand."""


class NotPermittedError(LiveError):
    """The process, or the program it starts, may not read packets."""


class MissingError(LiveError):
    """A program or library is not installed."""
