"""Facts about a packet that are not in its bytes: the process at an end of its connection, on the capturing
machine, and its line in a request log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kdissect.model.packets.segment import PlainSegment

if TYPE_CHECKING:
    from kdissect.model.packets.logged import Logged


class Process(NamedTuple):
    """A process as a capture describes it: name, id, pod, namespace and container, each None if unknown."""

    process: str | None = None
    pid: int | None = None
    pod: str | None = None
    namespace: str | None = None
    container: str | None = None

    def joined(self, other: Self) -> Self | None:
        """Return both descriptions combined, or None if they contradict each other."""
        told: dict[str, Any] = {}
        for name, mine, its in zip(self._fields, self, other, strict=True):
            if mine is not None and its is not None and mine != its:
                return None
            told[name] = its if mine is None else mine
        return self._replace(**told)


class LocalEnd(NamedTuple):
    """The process of a packet: of its sender, or of its receiver; None if the capture does not contain it.

    `logged` is the line of a request log, if the packet was built from one.
    """

    process: Process
    is_sender: bool | None
    logged: Logged | None = None


_NO_BYTES = -1  # bytes that a snap length cut, of what is no segment


def as_segment(flow: bytes, local_end: LocalEnd) -> PlainSegment:
    """Return a pseudo segment that precedes a packet's segment, so that a reader of segments alone knows its
    process.
    """
    from json import dumps  # start-up: on Spark alone

    values = dumps([*local_end.process, local_end.is_sender, local_end.logged]).encode()
    return flow, 0, 0, 0, 0, values, _NO_BYTES, 0


def local_end_of(segment: PlainSegment) -> LocalEnd:
    """Return the local end in it. Other segments have no negative number of missing bytes."""
    from json import loads  # start-up: on Spark alone

    *process, is_sender, logged = loads(segment[5])
    found = LocalEnd(Process(*process), is_sender)
    if logged is None:
        return found
    from kdissect.model.packets.logged import Logged  # start-up: of request logs alone

    return found._replace(logged=Logged(*logged))
