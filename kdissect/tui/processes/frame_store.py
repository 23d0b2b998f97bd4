"""The source of frames' bytes: the capture files, or the spool."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from kdissect.capture.resume import START, packets_behind
from kdissect.engine.exchange_log.locate_frame import Refinder
from kdissect.engine.exchange_log.logged_frames import Found, Want, unspooled
from kdissect.model.errors import CaptureError
from kdissect.model.packets.packet import NUMBER_MASK, PlainPacket, ref_file
from kdissect.tui.processes.spool import SpoolReader

if TYPE_CHECKING:
    from kdissect.engine.exchange_log.log import ExchangeLog

# Frames cached: the frames of the exchange on screen and of the exchanges before it.
KEPT = 16
_KEPT_BYTES = 64 << 20
_NOTHING_THERE = "its file is not known yet"


class Frames:
    """The `FrameStore` of a log. Any thread may ask it."""

    def __init__(
        self, log: ExchangeLog, paths: Callable[[], Sequence[str]], spool: SpoolReader | None
    ) -> None:
        self._log = log
        self._paths = paths
        self._spool = spool
        self._kept: OrderedDict[tuple[int, int, bool], Found] = OrderedDict()
        self._lock = Lock()

    def find(self, want: Want) -> Found:
        """Return the frame, or the reason why it is not available."""
        key = want.first_ref, want.mark, want.is_request
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        found = self._find(want)
        if not found.why:
            self._keep(key, found)
        return found

    def _find(self, want: Want) -> Found:
        if want.is_kept:
            if self._spool is None:
                return Found(b"", (), "it was dropped")
            return unspooled(self._spool.get(want.mark), want.connection)
        refinder = Refinder(want)
        try:
            for packets in self._packets(want):
                if refinder.feed(packets):
                    break
        except CaptureError as error:
            return Found(b"", (), str(error))
        return refinder.give_up()

    def _packets(self, want: Want) -> Iterator[Sequence[PlainPacket]]:
        paths = self._paths()
        first, last = ref_file(want.first_ref), ref_file(want.last_ref)
        for file in range(first, last + 1):
            packet = want.first_ref & NUMBER_MASK if file == first else 1
            if file >= len(paths):
                raise CaptureError("", _NOTHING_THERE)
            yield from packets_behind(paths[file], file, self._log.point_before(file, packet) or START)

    def _keep(self, key: tuple[int, int, bool], found: Found) -> None:
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > 1 and (
                len(self._kept) > KEPT or sum(len(each.data) for each in self._kept.values()) > _KEPT_BYTES
            ):
                self._kept.popitem(last=False)
