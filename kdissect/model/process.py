"""Who holds an end of a connection, on the machine on which it was captured."""

from typing import Any, NamedTuple, Self


class Process(NamedTuple):
    """A process as a capture tells of it: its name, id, pod, namespace and container; None for not told."""

    process: str | None = None
    pid: int | None = None
    pod: str | None = None
    namespace: str | None = None
    container: str | None = None

    def joined(self, other: Self) -> Self | None:
        """What both tell together; None where they tell of different ones."""
        told: dict[str, Any] = {}
        for name, mine, its in zip(self._fields, self, other, strict=True):
            if mine is not None and its is not None and mine != its:
                return None
            told[name] = its if mine is None else mine
        return self._replace(**told)


class LocalEnd(NamedTuple):
    """Whose a packet is: of who sent it, or of who it was sent to; None where that is not told."""

    process: Process
    is_sender: bool | None
