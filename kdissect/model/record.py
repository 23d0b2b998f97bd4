"""One record."""

from typing import NamedTuple

Header = tuple[str | bytes, bytes | None]
"""Key and value; the key is bytes where it is not UTF-8."""


class Record(NamedTuple):
    """A record with its absolute offset and its timestamp in milliseconds (-1: none).

    A NamedTuple, not a slotted class: it is made a million times and read once, and a tuple is made in half
    the time.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    attributes: int = 0
