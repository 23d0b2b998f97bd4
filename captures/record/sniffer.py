"""Captures the loopback interface with dumpcap, and leaves a pcapng without traces of the machine."""

import gzip
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from captures.record import workshop
from captures.record.scrub import scrub

_BUFFER_MIB = 64  # kernel buffer: a burst of 64 KiB loopback packets must not be dropped
_LARGE = 500_000  # bytes: a capture beyond is kept compressed, the corpus is to stay below 20 MB
_SETTLE_SECONDS = 0.6  # dumpcap hands on what the kernel ring holds within this time


class Sniffer:
    """One capture: started, stopped, scrubbed, and refused when the kernel dropped packets."""

    def __init__(
        self, ports: Iterable[int], raw: Path, interfaces: Sequence[str] = ("lo",), snaplen: int = 0
    ) -> None:
        """With `snaplen` no packet is kept beyond that many bytes."""
        self._filter = " or ".join(f"tcp port {port}" for port in sorted(set(ports)))
        self._raw = raw
        self._interfaces = interfaces
        self._more = ["-s", str(snaplen)] if snaplen else []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, and return when dumpcap says that it captures. Raises RuntimeError if it does not."""
        dumpcap = workshop.program("dumpcap", "capture the loopback interface")
        self._raw.unlink(missing_ok=True)
        command = [
            dumpcap,
            "-q",
            *(
                word
                for name in self._interfaces
                for word in ("-i", name, "-B", str(_BUFFER_MIB), "-f", self._filter)
            ),
            *self._more,
            "-w",
            str(self._raw),
        ]
        # Unbuffered: `select` does not see lines that were read ahead.
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, bufsize=0, start_new_session=True)
        seen = self._read_until("File:", seconds=40)  # a machine may be busy
        if "File:" not in seen:
            self.abandon()
            raise RuntimeError(f"dumpcap does not capture: {seen.strip()}")

    def _read_until(self, mark: str, seconds: float) -> str:
        process = self._process
        assert process is not None and process.stderr is not None
        seen, end = "", time.monotonic() + seconds
        while mark not in seen and time.monotonic() < end and process.poll() is None:
            if select.select([process.stderr], [], [], 0.2)[0]:
                seen += process.stderr.readline().decode()
        return seen

    def stop(self, target: Path) -> int:
        """End, write the scrubbed capture to `target`, return its packets. Raises RuntimeError on a drop."""
        process = self._process
        assert process is not None
        self._process = None
        time.sleep(_SETTLE_SECONDS)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=20)
        said = output.decode()
        found = re.findall(r"(\d+)/(\d+)", said)  # "Packets received/dropped on ...: 84/0", each interface
        if not found or any(int(dropped) for _, dropped in found):
            raise RuntimeError(f"dumpcap lost packets: {said.strip()}")
        _store(scrub(self._raw.read_bytes()), target)
        return sum(int(received) for received, _ in found)

    def abandon(self) -> None:
        """Stop without a result: the scenario failed."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def stored(target: Path) -> Path:
    """Return the file that has the capture of a `target`: itself, or NAME.pcapng.gz."""
    return target if target.exists() else _packed(target)


def _packed(target: Path) -> Path:
    return target.with_name(f"{target.name}.gz")


def _store(capture: bytes, target: Path) -> None:
    """Write a capture, as NAME.pcapng.gz when it is large; the other form of an earlier recording goes."""
    packed = _packed(target)
    for path in (target, packed):
        path.unlink(missing_ok=True)
    if len(capture) > _LARGE:
        packed.write_bytes(gzip.compress(capture, mtime=0))
    else:
        target.write_bytes(capture)
