"""Facts of a packet that are not in its bytes: the process at an end of its connection, on the machine on
which it was captured, and the line of a request log that it is made of.
"""

from typing import Any, NamedTuple, Self

from kdissect.model.packets.logged import Logged
from kdissect.model.packets.segment import PlainSegment


class Process(NamedTuple):
    """A process as a capture tells of it: its name, id, pod, namespace and container; None for not told."""

    process: str | None = None
    pid: int | None = None
    pod: str | None = None
    namespace: str | None = None
    container: str | None = None

    def joined(self, other: Self) -> Self | None:
        """Return what both tell together; None where they tell of different ones."""
        told: dict[str, Any] = {}
        for name, mine, its in zip(self._fields, self, other, strict=True):
            if mine is not None and its is not None and mine != its:
                return None
            told[name] = its if mine is None else mine
        return self._replace(**told)


class LocalEnd(NamedTuple):
    """The process of a packet: of its sender, or of its receiver; None if the capture does not contain it.

    `logged` is the line of a request log, if the packet is made of one.
    """

    process: Process
    is_sender: bool | None
    logged: Logged | None = None


_NO_BYTES = -1  # bytes that a snap length cut, of what is no segment


def as_segment(flow: bytes, local_end: LocalEnd) -> PlainSegment:
    """Return what goes in front of the segment of a packet, to tell where there are segments alone whose it
    is.
    """
    from json import dumps  # start-up: on Spark alone

    values = dumps([*local_end.process, local_end.is_sender, local_end.logged]).encode()
    return flow, 0, 0, 0, 0, values, _NO_BYTES, 0


def local_end_of(segment: PlainSegment) -> LocalEnd:
    """Return what it tells: all others have no negative number of missing bytes."""
    from json import loads  # start-up: on Spark alone

    *process, is_sender, logged = loads(segment[5])
    return LocalEnd(Process(*process), is_sender, None if logged is None else Logged(*logged))
