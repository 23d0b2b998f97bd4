"""Records ports of this machine, with a live capture (`kdissect.capture.live`), while a test runs.

A capturing program delays some packets, and their number cannot be seen from outside. So the recording asks:
it sends a datagram to a socket of ours on the loopback interface until the datagram is in the file. As
packets stay in order, everything sent before a datagram in the file is in the file too.
"""

import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from kdissect.capture.live.captures import LiveCaptures, open_live
from kdissect.capture.live.live_settings import AUTO, LiveError, LiveSettings, NotPermittedError
from kdissect.capture.live.programs import how_to_grant

# Seconds until the end of a capture without packets. The test does not wait for one that ended, so this is
# only for captures that cannot work. A busy machine may take seconds.
PATIENCE_S = 60.0
_POLL_S = 0.02
_SEND_AGAIN_S = 0.1  # what a network of its own may lose
_LOOPBACK = "lo0" if sys.platform == "darwin" or "bsd" in sys.platform else "lo"
_HERE = "127.0.0.1"


class CannotRecordError(Exception):
    """Failure to record. The message is the reason, in one line."""


class LiveRecording:
    """A recording that goes on. `path` is its capture file."""

    def __init__(self, path: str, captures: LiveCaptures, beacon: "Beacon") -> None:
        self.path = path
        self._captures: LiveCaptures | None = captures
        self._beacon = beacon

    def flush(self) -> None:
        """Wait until everything sent so far is in the file. Raises CannotRecordError if it does not come."""
        if self._captures is not None:
            self._beacon.wait(self.path, self._captures)

    def stop(self) -> None:
        """Flush and end. A second call does nothing."""
        captures = self._captures
        if captures is None:
            return
        try:
            self.flush()
        finally:
            self._captures = None
            captures.discard()
            self._beacon.close()


class Beacon:
    """Sender of datagrams to itself, each with a mark of its own."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((_HERE, 0))
        self.port: int = self._socket.getsockname()[1]
        self._sent = 0

    def wait(self, path: str, captures: LiveCaptures) -> None:
        """Send until a mark is in the file. Raises CannotRecordError."""
        deadline = time.monotonic() + PATIENCE_S
        self._sent += 1
        mark = b"kdissect beacon %d %d" % (self.port, self._sent)
        start, send_at = 0, 0.0
        while (now := time.monotonic()) < deadline:
            if now >= send_at:
                self._socket.sendto(mark, (_HERE, self.port))
                send_at = now + _SEND_AGAIN_S
            time.sleep(_POLL_S)
            found, start = _find(path, mark, start)
            if found:
                return
            if captures.trouble:
                raise CannotRecordError(captures.trouble)
        raise CannotRecordError(f"no packets were recorded within {PATIENCE_S:.0f} s")

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def start_recording(
    path: str, ports: Sequence[int], interface: str | None = None, source: str = AUTO
) -> LiveRecording:
    """Record TCP on these ports (all if there are none) to a file. Returns when packets are seen.

    Raises CannotRecordError if no capturing program is installed or allowed.
    """
    beacon = Beacon()
    where = interface or _LOOPBACK
    try:
        captures = open_live(LiveSettings((where,), _filter(ports, beacon.port), source, path=path))
        recording = LiveRecording(path, captures, beacon)
        try:
            recording.flush()
        except CannotRecordError:
            captures.discard()
            raise
    except NotPermittedError:
        beacon.close()
        raise CannotRecordError(f"no permission to capture: {how_to_grant()}") from None
    except (CannotRecordError, LiveError) as error:
        beacon.close()
        raise CannotRecordError(str(error)) from None
    return recording


def _filter(ports: Sequence[int], beacon: int) -> str:
    tcp = " or ".join(f"tcp port {port}" for port in ports) or "tcp"
    return f"{tcp} or udp port {beacon}"


def _find(path: str, mark: bytes, start: int) -> tuple[bool, int]:
    """Return whether a mark is in the file, searched from `start` on, and where to search the next time."""
    try:
        with Path(path).open("rb") as file:
            file.seek(start)
            data = file.read()
    except FileNotFoundError:
        return False, 0
    return mark in data, max(start + len(data) - len(mark), 0)
