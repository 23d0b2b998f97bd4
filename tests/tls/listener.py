"""Drives a `TlsConnection` and keeps what it says."""

from kdissect.model.anomaly import AnomalyKind
from kdissect.model.key_log import KeyLog
from kdissect.model.packets.stream import CloseKind
from kdissect.tls.tls_connection import TlsConnection
from kdissect.tls.tls_info import TlsInfo


class Secrets:
    """A key log; `may_grow` as the test wants it."""

    def __init__(self, text: bytes, may_grow: bool = False) -> None:
        self.log = KeyLog()
        self.log.feed(text)
        self.may_grow = may_grow
        self.is_given = bool(text) or may_grow

    def find(self, client_random: bytes, session_id: bytes) -> dict[str, bytes] | None:
        return self.log.find(client_random, session_id)


class Sink:
    """Collects plaintext; a hole stands as its length."""

    def __init__(self) -> None:
        self.parts: list[bytes | int] = []
        self.refs: list[tuple[int, int]] = []
        self.end_kind: CloseKind | None = None

    @property
    def text(self) -> bytes:
        return b"".join(part for part in self.parts if isinstance(part, bytes))

    @property
    def holes(self) -> list[int]:
        return [part for part in self.parts if isinstance(part, int)]

    def opened(self) -> None: ...

    def data(self, payload: bytes, ref: int, time_ns: int) -> None:
        assert payload
        self.parts.append(payload)
        self.refs.append((len(payload), ref))

    def gap(self, length: int, snapped: bool, ref: int, time_ns: int, *, can_fill: bool = False) -> None:
        self.parts.append(length)

    def end(self, how: CloseKind, ref: int, time_ns: int) -> None:
        assert self.end_kind is None
        self.end_kind = how


class Listener:
    """One connection, its sinks, and what was noted."""

    def __init__(self, secrets: Secrets | None) -> None:
        self.info = TlsInfo()
        self.sinks = (Sink(), Sink())
        self.noted: list[tuple[AnomalyKind, str]] = []
        self.opaque = 0
        self.tls = TlsConnection(self.info, self.sinks, secrets, self._note, self._opaque)
        self._ref = 0

    def _note(self, kind: AnomalyKind, detail: str, ref: int, time_ns: int) -> None:
        self.noted.append((kind, detail))

    def _opaque(self) -> None:
        self.opaque += 1

    def hear(self, wire: list[tuple[int, bytes]], segment: int = 1 << 20) -> "Listener":
        """Ciphertext in segments of at most so many bytes, each a packet of its own."""
        for direction, data in wire:
            for start in range(0, len(data), segment):
                self._ref += 1
                self.tls.sides[direction].data(data[start : start + segment], self._ref, self._ref * 1000)
        return self

    def miss(self, direction: int, length: int) -> None:
        """Bytes that were not captured."""
        self.tls.sides[direction].gap(length, False, 0, 0)

    def end(self) -> "Listener":
        """Both directions are over."""
        for side in self.tls.sides:
            side.end(CloseKind.FIN, 0, 0)
        return self
