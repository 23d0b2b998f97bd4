"""Finished capture files as the source of a recorder: time is that of the packets.

The packets come in slices of some seconds. The next slice waits until the recorder has analysed this one, so
that the ring keeps what an incident needs, and a condition is looked at as often as while capturing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from io import BytesIO

from kdissect.capture.files import CaptureSet, open_captures
from kdissect.capture.formats.capture_writer import BEFORE_1970, PcapngWriter
from kdissect.capture.formats.packet_file import APPLICATION
from kdissect.model.packets.commented import plain_link
from kdissect.model.packets.packet import Packet, PlainPacket
from kdissect.recorder.feed import set_by

_PIECE = 1 << 20
_WAIT_S = 0.5


class ReplayedFiles:
    """A `ByteSource` of capture files. `now_ns` is the time of the latest packet that it handed over."""

    name = "files"

    def __init__(self, paths: Sequence[str], slice_ns: int) -> None:
        self.captures: CaptureSet = open_captures(paths)
        self.now_ns = 0
        self._set_by_ns = self._all_set_by_ns = 0
        self.is_slice_over = False
        """Whether the latest bytes end a slice."""
        self._slice_ns = slice_ns
        self._out = BytesIO()
        self._interfaces: dict[tuple[int, int], int] = {}
        self._secrets = 0
        self._writer = PcapngWriter(self._out, application=APPLICATION)
        self._pieces = self._all_pieces()
        self._is_begun = self._is_stopped = False
        self._may_go_on, self._is_waiting = threading.Event(), threading.Event()

    def read(self) -> bytes:
        """Return the next bytes, once the recorder has analysed all earlier ones."""
        if self._is_begun:
            self._is_waiting.set()
            while not self._may_go_on.wait(_WAIT_S) and not self._is_stopped:
                continue
        self._is_begun = True
        self._may_go_on.clear()
        return b"" if self._is_stopped else next(self._pieces, b"")

    def is_written(self, seconds: float) -> bool:
        """Wait until everything that was handed over is written, at most this long."""
        return self._is_waiting.wait(seconds)

    def go_on(self) -> None:
        """Hand over the next bytes."""
        self._is_waiting.clear()
        self._may_go_on.set()

    def stop(self) -> None:
        """End. Safe in a signal handler."""
        self._is_stopped = True

    def failure(self) -> str:
        """Return the first error of a file."""
        return next((str(error) for error in self.captures.errors), "")

    def drops(self) -> int:
        """Return the packets that the files report as lost."""
        return sum(file.drops for file in self.captures.files)

    def clock(self) -> float:
        """Return a time in seconds, for the ring. Nobody sets this clock."""
        return (self.now_ns - self._all_set_by_ns) / 1e9

    def take_set_by_ns(self) -> int:
        """Return by how much the clock of the packets was set back since the last call."""
        by_ns, self._set_by_ns = self._set_by_ns, 0
        return by_ns

    def _all_pieces(self) -> Iterator[bytes]:
        end_ns = 0
        for batch in self.captures.batches():
            self._add_secrets()
            for packet in batch:
                time_ns = packet[1]
                end_ns = end_ns or time_ns + self._slice_ns
                by_ns = set_by(self.now_ns, time_ns)
                if by_ns or time_ns >= end_ns or self._out.tell() >= _PIECE:
                    self.is_slice_over = bool(by_ns) or time_ns >= end_ns
                    yield self._taken()
                    end_ns = time_ns + self._slice_ns if self.is_slice_over else end_ns
                self._set_by_ns += by_ns
                self._all_set_by_ns += by_ns
                self.now_ns = time_ns if by_ns else max(self.now_ns, time_ns)
                self._write(packet)
        self.is_slice_over = True
        yield self._taken()

    def _write(self, plain: PlainPacket) -> None:
        packet = Packet._make(plain)
        key = plain_link(packet.link_type), BEFORE_1970 if packet.time_ns < 0 else 0
        if key not in self._interfaces:
            self._interfaces[key] = self._writer.interface(key[0], offset=key[1])
        self._writer.write_packet(packet, interface=self._interfaces[key])

    def _add_secrets(self) -> None:
        blocks = [block for file in self.captures.files for block in file.secrets]
        for kind, data in blocks[self._secrets :]:
            self._writer.secrets(kind, data)
        self._secrets = len(blocks)

    def _taken(self) -> bytes:
        data = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return data
