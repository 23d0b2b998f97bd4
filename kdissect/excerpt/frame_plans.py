"""The frames that are to be kept, by the packet in which each begins."""

import pickle
from struct import Struct
from typing import NamedTuple, Protocol

from kdissect.engine.secrets.patches import Patch
from kdissect.excerpt.edit import NOTHING, Edit, Redaction
from kdissect.schema.protocol_messages import api_name

# The packet's reference; number of the connection; exchange; bytes of the frame, and those captured; API key,
# version, correlation id; flags; bytes of the mark. The mark follows, then what goes over the frame.
_HEAD = Struct("<qIIIIhhiBB")
_REQUEST, _TOKEN, _HAS_API, _HAS_VERSION, _HAS_ID = 1, 2, 4, 8, 16


class FramePlan(NamedTuple):
    """A frame to be kept.

    `mark` are its first bytes, size included, `length` all of them as the size says. Over its content go
    `blanks` (spans to be filled), then `patches`; `edits` then change its length, which `note` says. `known`
    bytes of it, size included, were captured without a hole. `is_token`: it is a raw SASL token.
    """

    first_ref: int
    mark: bytes
    length: int
    patches: tuple[Patch, ...]
    exchange: int
    is_request: bool
    known: int = 0
    blanks: tuple[tuple[int, int], ...] = ()
    edits: tuple[Edit, ...] = ()
    api_key: int | None = None
    api_version: int | None = None
    correlation_id: int | None = None
    is_token: bool = False
    note: str = ""
    connection: int = 0
    """Its number, where plans of many connections are held together."""

    def packed(self) -> bytes:
        """As it is held until its packet comes (native counterpart: native/src/excerpt/plan.rs)."""
        api_key, version, correlation_id = self.api_key, self.api_version, self.correlation_id
        flags = (
            _REQUEST * self.is_request | _TOKEN * self.is_token | _HAS_API * (api_key is not None)
            | _HAS_VERSION * (version is not None) | _HAS_ID * (correlation_id is not None)
        )  # fmt: skip
        head = _HEAD.pack(
            self.first_ref, self.connection, self.exchange, self.length, self.known, api_key or 0,
            version or 0, correlation_id or 0, flags, len(self.mark),
        )  # fmt: skip
        over = self.patches, self.blanks, self.edits, self.note
        return head + self.mark + (pickle.dumps(over, pickle.HIGHEST_PROTOCOL) if any(over) else b"")

    @classmethod
    def unpacked(cls, data: bytes) -> "FramePlan":
        """One that was packed."""
        ref, connection, exchange, length, known, api_key, version, correlation_id, flags, size = (
            _HEAD.unpack_from(data)
        )
        end = _HEAD.size + size
        patches, blanks, edits, note = pickle.loads(data[end:]) if len(data) > end else ((), (), (), "")
        return cls(
            ref, data[_HEAD.size : end], length, patches, exchange, bool(flags & _REQUEST), known, blanks,
            edits,
            api_key if flags & _HAS_API else None,
            version if flags & _HAS_VERSION else None,
            correlation_id if flags & _HAS_ID else None,
            bool(flags & _TOKEN), note, connection,
        )  # fmt: skip

    def redacted(self, put: Redaction) -> "FramePlan":
        """With what is to be put over it."""
        if put is NOTHING:
            return self
        return self._replace(
            patches=tuple(put.patches), blanks=tuple(put.blanks), edits=tuple(put.edits), note=put.note
        )

    def label(self, connection: str) -> str:
        """What it is, for people; `connection` is the connection's id."""
        side = "request" if self.is_request else "response"
        what = f"{connection}/{self.exchange}"
        if self.is_token:
            return f"{what} SASL token, {side}" + (f"; {self.note}" if self.note else "")
        name = "of an unknown API"
        if self.api_key is not None:
            name = f"{shown_api(self.api_key)} v{self.api_version}"
        text = f"{what} {name} {side}, correlation id {self.correlation_id}"
        return text + (f"; {self.note}" if self.note else "")


def shown_api(key: int) -> str:
    """What labels call an API."""
    return api_name(key) or f"API {key}"


class Frames(Protocol):
    """Frames of any connections: a packet is of one direction of one connection."""

    def take(self, ref: int) -> list[FramePlan]:
        """Those that begin in a packet, in the order in which they were added; they are not held any more."""


class HeldFrames:
    """Frames that are all in memory."""

    def __init__(self) -> None:
        self._held: dict[int, list[FramePlan]] = {}

    def add(self, plan: FramePlan) -> None:
        """Keep a frame."""
        self._held.setdefault(plan.first_ref, []).append(plan)

    def take(self, ref: int) -> list[FramePlan]:
        """Those that begin in a packet."""
        return self._held.pop(ref, [])
