"""Records ports of this machine with the first program that may: dumpcap, tcpdump, scapy.

A recorder needs a moment until it sees packets, and holds some back. Nobody can tell from outside when it is
ready, so it is asked: a datagram is sent to a socket of ours on the loopback interface until it is in the
file. As packets stay in order, everything sent before a datagram that is there is there too.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Protocol

# Seconds until a recorder that shows nothing is given up; dumpcap takes about 0.3 s, a busy machine longer.
PATIENCE_S = 10.0
_POLL_S = 0.02
_SEND_AGAIN_S = 0.1  # those sent before the recorder was ready are lost
_LOOPBACK = "lo0" if sys.platform == "darwin" or "bsd" in sys.platform else "lo"
_HERE = "127.0.0.1"


class CannotRecordError(Exception):
    """No recorder works; the message says why, one reason for each."""


class Recorder(Protocol):
    """A program or thread that writes packets to a file."""

    def failure(self) -> str:
        """Why it does not run any more; empty while it does."""

    def end(self) -> None:
        """Stop it and wait."""


class LiveRecording:
    """A recording that goes on. `path` is its capture file."""

    def __init__(self, path: str, recorder: Recorder, beacon: "Beacon") -> None:
        self.path = path
        self._recorder: Recorder | None = recorder
        self._beacon = beacon

    def flush(self) -> None:
        """Wait until everything sent so far is in the file. Raises CannotRecordError if it does not come."""
        if self._recorder is not None:
            self._beacon.wait(self.path, self._recorder)

    def stop(self) -> None:
        """Flush and end; nothing more the second time."""
        recorder = self._recorder
        if recorder is None:
            return
        try:
            self.flush()
        finally:
            self._recorder = None
            recorder.end()
            self._beacon.close()


class Beacon:
    """Sends datagrams to itself, each with a mark of its own."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((_HERE, 0))
        self.port: int = self._socket.getsockname()[1]
        self._sent = 0

    def wait(self, path: str, recorder: Recorder) -> None:
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
            failure = recorder.failure()
            if failure:
                raise CannotRecordError(failure)
            found, start = _find(path, mark, start)
            if found:
                return
        raise CannotRecordError(f"nothing was recorded within {PATIENCE_S:.0f} s")

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def start_recording(path: str, ports: Sequence[int], interface: str | None = None) -> LiveRecording:
    """Record TCP on these ports (all if there are none) to a file; returns when packets are seen.

    Raises CannotRecordError where no recorder is installed or allowed.
    """
    reasons = []
    for name, start in RECORDERS.items():
        beacon = Beacon()
        try:
            recorder = start(path, interface or _LOOPBACK, _filter(ports, beacon.port))
            recording = LiveRecording(path, recorder, beacon)
            try:
                recording.flush()
            except CannotRecordError:
                recorder.end()
                raise
        except CannotRecordError as error:
            reasons.append(f"{name}: {error}")
            beacon.close()
        else:
            return recording
    raise CannotRecordError("; ".join(reasons))


def _filter(ports: Sequence[int], beacon: int) -> str:
    tcp = " or ".join(f"tcp port {port}" for port in ports) or "tcp"
    return f"{tcp} or udp port {beacon}"


def _find(path: str, mark: bytes, start: int) -> tuple[bool, int]:
    """Whether a mark is in the file, looked for from `start` on; and where to look the next time."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123  paths stay strings, as everywhere in capture
            file.seek(start)
            data = file.read()
    except FileNotFoundError:
        return False, 0
    return mark in data, max(start + len(data) - len(mark), 0)


class ProgramRecorder:
    """dumpcap or tcpdump."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
            )
        except OSError as error:
            raise CannotRecordError("not installed" if error.errno == 2 else str(error.strerror)) from None

    def failure(self) -> str:
        """Its last words, once it has ended."""
        if self._process.poll() is None:
            return ""
        assert self._process.stderr is not None
        words = self._process.stderr.read().decode("utf-8", "replace").strip().splitlines()
        return words[-1] if words else f"ended with code {self._process.returncode}"

    def end(self) -> None:
        """Terminate it: both write what they have and go."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


def _dumpcap(path: str, interface: str, what: str) -> Recorder:
    return ProgramRecorder(["dumpcap", "-q", "-i", interface, "-f", what, "-w", path])


def _tcpdump(path: str, interface: str, what: str) -> Recorder:
    # -Z: not to give up the privileges with which the file can be written
    return ProgramRecorder(["tcpdump", "-Z", _user(), "-i", interface, "-n", "-U", "-w", path, what])


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name


def _scapy(path: str, interface: str, what: str) -> Recorder:
    from kdissect.testing.scapy_recorder import ScapyRecorder

    return ScapyRecorder(path, interface, what)


RECORDERS: dict[str, Callable[[str, str, str], Recorder]] = {
    "dumpcap": _dumpcap,
    "tcpdump": _tcpdump,
    "scapy": _scapy,
}
