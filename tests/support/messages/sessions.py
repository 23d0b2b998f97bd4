"""Readers and dialogues without their compiled pieces, and what was told, as values to compare."""

from collections import Counter
from typing import Any

from kdissect.model.anomaly import Anomaly
from kdissect.model.packets.stream import CloseKind
from kdissect.session.dialogue import Dialogue
from kdissect.session.exchange import Exchange
from kdissect.session.framing import FrameReader


class PlainReader(FrameReader):
    """A reader without the compiled piece."""

    __slots__ = ()
    data = FrameReader._data


class PlainDialogue(Dialogue):
    """A dialogue without the compiled pieces."""

    __slots__ = ()
    request = Dialogue._request
    response = Dialogue._response


class Owner:
    """What readers ask of a connection: remembers it. Every offset of `at` may be a frame's beginning."""

    def __init__(self, at: int = 1) -> None:
        self.calls: list[Any] = []
        self.at = at

    def undecided(self, direction: int, payload: bytes, ref: int, time_ns: int) -> None:
        self.calls.append(("undecided", payload, ref))

    def undecided_gap(self, direction: int, length: int, snapped: bool, ref: int, time_ns: int) -> None:
        self.calls.append(("undecided_gap", length))

    def find_frame(self, direction: int, data: bytes, first: int) -> int:
        for offset in range(len(data)):
            if data[offset : offset + 3] == b"\0\0\0" and offset % self.at == 0:
                return offset
        return ~len(data)

    def lost(self, direction: int, why: str) -> None:
        self.calls.append(("lost", why))

    def is_middle_start(self, direction: int) -> bool:
        return False

    def is_foreign(self, direction: int, data: bytes, ref: int, time_ns: int) -> bool:
        self.calls.append(("is_foreign", data, ref))
        return data[0] % 5 == 0  # some of them: then the reader looks at no byte any more

    def note(self, anomaly: Anomaly) -> None:
        self.calls.append(anomaly)

    def ending(self, how: CloseKind, time_ns: int) -> None:
        self.calls.append(("ending", how))

    def ended(self, direction: int, how: CloseKind, time_ns: int) -> None:
        self.calls.append(("ended", how))


def told(value: Any) -> Any:
    """What an event and all that hangs on it says."""
    if isinstance(value, Exchange):
        names = [name for name in Exchange.__slots__ if not name.endswith("_cache")]
        return [(name, told(getattr(value, name))) for name in names]
    if type(value).__name__ == "Frame":
        return [(name, told(getattr(value, name))) for name in type(value).__slots__]
    if type(value).__name__ == "ConnectionInfo":
        return value.id, value.client_id, value.mechanism, dict(value.states), dict(value.api_versions_seen)
    if isinstance(value, Counter):
        return dict(value)
    return [told(item) for item in value] if isinstance(value, (tuple, list)) else repr(value)


def reader_state(reader: FrameReader) -> list[Any]:
    """What a reader holds."""
    names = [
        name for name in (*FrameReader.FIELDS, *FrameReader.__slots__) if name not in ("_take", "_store")
    ]
    held = [(name, told(getattr(reader, name))) for name in names if name != "_connection"]
    return [*held, reader._store.frame_bytes]


def dialogue_state(dialogue: Dialogue) -> list[Any]:
    """What a dialogue, its pairing and its store hold."""
    pairing = dialogue._pairing
    names = (
        "_next",
        "_client_id",
        "_client_id_bytes",
        "_client_id_length",
        "_client_id_end",
        "_phase",
        "_orphans",
    )
    held: list[Any] = [(name, getattr(dialogue, name)) for name in names]
    names = (
        "_shadows",
        "_holding",
        "_bytes",
        "_given_up",
        "_lost_before",
        "last_correlation_id",
        "_answered",
    )
    held += [(name, getattr(pairing, name)) for name in names]
    waiting = [(key, exchange.ordinal, str(exchange.state)) for key, exchange in pairing._pending.items()]
    store = pairing._store
    silent = [exchange.ordinal for exchange in pairing._silent or ()]
    return [*held, waiting, silent, store.pending_bytes, store.pending_requests, told(dialogue._tokens)]
