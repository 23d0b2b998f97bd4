"""Traffic that the capture could not see: shown next to any list of clients and their activity."""

from collections import Counter
from typing import Any

from kdissect.model.frame import is_cut_by_end
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionKind

_CLEAR = frozenset({ConnectionKind.KAFKA, ConnectionKind.NO_DATA})


class BlindSpots:
    """Counter of causes that hide traffic: opaque connections, late starts, lost bytes."""

    def __init__(self) -> None:
        self.opaque: Counter[str] = Counter()
        self.tls: Counter[str] = Counter()
        """Connections of which only TLS was seen, by the reason."""
        self.middle_starts = self.one_sided = 0
        self.gap_bytes = 0
        self.bytes_cut_off = 0
        self.cut_frames = 0
        self.unknown = 0

    def add(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Exchange):
            self.unknown += event.api_key is not None and event.is_unknown
            self.cut_frames += sum(
                frame is not None and frame.is_cut and not frame.is_logged and not is_cut_by_end(frame)
                for frame in (event.request, event.response)
            )
        elif isinstance(event, ConnectionClosed):
            info = event.connection
            if info.kind not in _CLEAR:
                self.opaque[str(info.kind)] += 1
            if info.kind is ConnectionKind.TLS and info.tls is not None and info.tls.why is not None:
                self.tls[info.tls.why] += 1
            self.middle_starts += info.kind is ConnectionKind.KAFKA and info.middle_start
            if info.tcp is not None:
                self.gap_bytes += info.tcp.gap_bytes
                self.bytes_cut_off += info.tcp.bytes_cut_off
                self.one_sided += info.exchanges > 0 and info.tcp.is_one_sided

    def facts(self) -> dict[str, Any]:
        """Return the numbers by name, 0 if the capture was complete."""
        return {
            "opaque_connections": dict(self.opaque.most_common()),
            "connections_begun_before": self.middle_starts,
            "connections_in_one_direction": self.one_sided,
            "bytes_not_captured": self.gap_bytes,
            "bytes_cut_off": self.bytes_cut_off,
            "cut_frames": self.cut_frames,
            "exchanges_of_unknown_version": self.unknown,
        }
