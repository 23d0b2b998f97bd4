"""Bytes of a frame replaced by other bytes, more or fewer of them, so that other people may see the frame."""

from collections.abc import Sequence
from typing import NamedTuple

from kdissect.engine.secrets.patches import FILLER, Patch


class Edit(NamedTuple):
    """An edit: `data` replaces the bytes `start` to `end` of a frame, its size prefix included."""

    start: int
    end: int
    data: bytes


def spliced(payload: bytes, begin: int, edits: Sequence[Edit]) -> bytes:
    """Return `payload`, which is at `begin` in its frame, with the edits made. Edits do not overlap.

    New bytes are spread over the pieces as the old ones were, so that the last packet of a frame stays its
    last packet.
    """
    if not edits:
        return payload
    parts, at, end = [], begin, begin + len(payload)
    for edit in edits:
        low, high = max(edit.start, begin), min(edit.end, end)
        if low >= high:
            continue
        old, new = edit.end - edit.start, len(edit.data)
        parts.append(payload[at - begin : low - begin])
        parts.append(edit.data[(low - edit.start) * new // old : (high - edit.start) * new // old])
        at = high
    parts.append(payload[at - begin :])
    return b"".join(parts)


def blanked(payload: bytes, spans: Sequence[tuple[int, int]], begin: int) -> bytes:
    """Return `payload`, which is at `begin`, with the spans filled."""
    if not spans:
        return payload
    out, end = bytearray(payload), begin + len(payload)
    for start, stop in spans:
        low, high = max(start, begin), min(stop, end)
        if low < high:
            out[low - begin : high - begin] = FILLER * (high - low)
    return bytes(out)


class Redaction(NamedTuple):
    """A redaction of a frame. `blanks` are spans of the content to be filled, `patches` are bytes put over it
    after that. `edits` change its length, and count with the size prefix. `note` describes that for people.
    """

    blanks: Sequence[tuple[int, int]] = ()
    patches: Sequence[Patch] = ()
    edits: Sequence[Edit] = ()
    note: str = ""


NOTHING = Redaction()
