"""The ends of a capture set's settled flows, as far as a batch asks for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kdissect.pipeline.streaming.flows.ends_digest import EndsDigest, Ordered, digest_of, events_of
from kdissect.pipeline.streaming.flows.settled_flows import Group, digest_in, told_in
from kdissect.pipeline.streaming.silent_connections import Read


class SettledEnds:
    """Settled flows of a capture set, as far as a batch asks for them."""

    def __init__(self, digests: Sequence[tuple[Group, EndsDigest]], read: Read) -> None:
        self._digests = digests
        self._read = read
        self._events: dict[str, list[Ordered]] | None = None

    @property
    def digests(self) -> list[EndsDigest]:
        """The digests of their groups."""
        return [digest for _, digest in self._digests]

    @property
    def rest(self) -> list[Ordered]:
        """Events of connections whose ends complete more than themselves."""
        return [event for digest in self.digests for event in digest.rest]

    def __contains__(self, connection: str) -> bool:
        return any(connection in names for digest in self.digests for names in digest.plain.values())

    def events(self, connections: Iterable[str]) -> list[Ordered]:
        """Return the events of some connections."""
        return [event for connection in connections for event in self._of_all()[connection]]

    def order(self, connection: str) -> bytes:
        """Return the order of a silent connection's end."""
        return self._of_all()[connection][-1][0]

    def _of_all(self) -> dict[str, list[Ordered]]:
        """Return the events of all connections, which is rarely needed."""
        if self._events is None:
            self._events = {}
            for group, _ in self._digests:
                for path in group.told:
                    for told in told_in(self._read(path)):
                        self._events |= events_of(told)
        return self._events


def settled_ends(groups: Iterable[Group], uncounted: Collection[str], read: Read) -> SettledEnds:
    """Return the content of the groups' digests. A digest with connections that another set counts is rebuilt
    without them.
    """
    digests = []
    for group in groups:
        digest = digest_in(read(group.digest))
        if not digest.connections.isdisjoint(uncounted):
            told = (told for path in group.told for told in told_in(read(path)))
            digest = digest_of(told, uncounted)
        digests.append((group, digest))
    return SettledEnds(digests, read)
