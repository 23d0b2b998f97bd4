"""Messages between the screen and its processes: length-prefixed pickles over pipes.

Both ends are kdissect on one machine, one started by the other. No other process can write to the pipes.
"""

from __future__ import annotations

import os
import pickle
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

from kdissect.model.endpoint import ANY_PORTS, Ports
from kdissect.model.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from kdissect.capture.live.live_settings import LiveSettings

_LENGTH = Struct("<Q")


class Order(NamedTuple):
    """An order for a worker. Inputs as `Dissection` takes them.

    `rows`: send the exchanges. `studies`: names of the studies to run. `filter`: only exchanges that it takes
    go into the studies, and with `matches` their rows are sent. `spool` and `stdin` are inherited file
    descriptors, -1: none. `nice`: the priority that the worker leaves to other processes, 0 to 19. `wanted`:
    the studies whose results are sent before the end, None: all. `Wanted` adds to them. `live`: capture
    instead of reading `paths`. `limits` apply in the worker. `schemas` are paths of schemas that decode
    records.
    """

    paths: tuple[str, ...]
    ports: Ports = ANY_PORTS
    key_logs: tuple[str, ...] = ()
    topic_ids: dict[bytes, str] | None = None
    hosts: dict[str, str] | None = None
    rows: bool = False
    studies: tuple[str, ...] = ()
    filter: str = ""
    matches: bool = False
    spool: int = -1
    stdin: int = -1
    nice: int = 0
    wanted: tuple[str, ...] | None = None
    live: LiveSettings | None = None
    limits: Limits = DEFAULT_LIMITS
    schemas: tuple[str, ...] = ()


class Wanted(NamedTuple):
    """Message to a running worker: the screen shows these studies."""

    studies: tuple[str, ...]


class Rows(NamedTuple):
    """More exchanges."""

    batch: Any


class Progress(NamedTuple):
    """Progress of the reading. `total` is None for streams. `packets` and `drops` are counts so far."""

    done: int
    total: int | None
    packets: int = 0
    drops: int = 0
    file_names: tuple[str, ...] = ()


class Result(NamedTuple):
    """A study's current result. `is_final`: the input is over."""

    study: str
    value: Any
    is_final: bool


class Codes(NamedTuple):
    """Codes of findings: id of the connection, ordinal of the exchange, code each."""

    codes: list[tuple[str, int, str]]


class Matches(NamedTuple):
    """Rows that the filter took, as bytes of a uint32 array."""

    rows: bytes


class Failed(NamedTuple):
    """Something that should not happen; `text` is for people, `trace` for a bug report."""

    text: str
    trace: str


class Done(NamedTuple):
    """The input is over. `errors`: why inputs could not be read, or not to their end. `unread`: content that
    could not be decoded (`engine.unread`).
    """

    errors: tuple[str, ...]
    unread: tuple[str, ...] = ()


Message = Rows | Progress | Result | Codes | Matches | Failed | Done


def send(handle: int, message: Any) -> None:
    """Write one message. Raises OSError if the other end is closed."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(handle, view) :]


def receive(handle: int) -> Any:
    """Read one message. Raises EOFError if the other end is closed."""
    (length,) = _LENGTH.unpack(_pull(handle, _LENGTH.size))
    return pickle.loads(_pull(handle, length))


def _pull(handle: int, length: int) -> bytes:
    parts = []
    while length:
        data = os.read(handle, min(length, 1 << 20))
        if not data:
            raise EOFError
        parts.append(data)
        length -= len(data)
    return b"".join(parts)


ExchangeKey = tuple[str, int]


class SaveOrder(NamedTuple):
    """An order to save exchanges. `exchanges` are exchanges as (connection, ordinal).

    `connections` are ids of connections whose packets are copied, if there are no exchanges.
    """

    inputs: Order
    exchanges: frozenset[ExchangeKey]
    path: str
    connections: frozenset[str] = frozenset()


class Saved(NamedTuple):
    """Result of a `SaveOrder`: the number of exchanges, or connections, that were written.

    `trouble` is one line: the reason if no file was written, else a remark.
    """

    written: int
    path: str
    trouble: str = ""
