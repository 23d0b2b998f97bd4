"""Which rules had something to judge, for each pair of a client's software and a broker."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kdissect.model.finding import Party, Who
from kdissect.rules.evidence import Labels, label_of
from kdissect.schema.types import Message
from kdissect.session.info import ConnectionInfo

# Names of software come from the wire: a client that makes them up must not fill the memory. Further ones
# count as a client that does not say what it is.
MAX_PAIRS = 256


class Software(NamedTuple):
    """What a report calls an end: its role, what it says it is, and what the user calls it."""

    role: Who
    name: str | None = None
    version: str | None = None
    label: str | None = None


def software_of(party: Party) -> Software:
    """The software of the end that a finding is about."""
    return Software(party.role, party.software, party.version, party.label)


class Exercise:
    """What was judged on the connections of one pair: `rules` counts subjects by rule code.

    `seen` are the messages whose pieces were looked at: later ones that are plain need no look.
    """

    __slots__ = ("bodies", "exchanges", "rules", "seen")

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.seen: set[tuple[Message, int]] = set()
        self.exchanges = 0
        self.bodies = 0


Pair = tuple[Software, Software]


class Exercises:
    """`at` says whose connection is judged; `now` is then what counts."""

    def __init__(self, labels: Labels) -> None:
        self.pairs: dict[Pair, Exercise] = {}
        self._labels = labels
        self.now = Exercise()
        self._open: dict[str, tuple[str | None, str | None, Exercise]] = {}

    def at(self, info: ConnectionInfo) -> Exercise:
        """What follows concerns this connection; gives `now`."""
        name, version = info.software_name, info.software_version
        held = self._open.get(info.id)
        if held is None or held[0] != name or held[1] != version:
            labels = self._labels
            pair = (
                Software(Who.CLIENT, name, version, label_of(info, Who.CLIENT, labels)),
                Software(Who.BROKER, label=label_of(info, Who.BROKER, labels)),
            )
            held = self._open[info.id] = name, version, self._pair(pair)
        self.now = held[2]
        return self.now

    def close(self, info: ConnectionInfo) -> None:
        """The connection is over."""
        self._open.pop(info.id, None)

    def finish(self, of_exchanges: Sequence[str], of_bodies: Sequence[str]) -> None:
        """Count the rules that look at every exchange or body, if only for whether something is wrong."""
        for exercise in self.pairs.values():
            for code in of_exchanges:
                exercise.rules[code] = exercise.exchanges
            for code in of_bodies:
                exercise.rules[code] = exercise.bodies

    def rules(self) -> Counter[str]:
        """Subjects by rule code, of all pairs."""
        total: Counter[str] = Counter()
        for exercise in self.pairs.values():
            total.update(exercise.rules)
        return total

    def by_software(self, role: Who) -> dict[Software, Counter[str]]:
        """Subjects by rule code, for each software of a role."""
        found: dict[Software, Counter[str]] = {}
        for (client, broker), exercise in self.pairs.items():
            software = client if role is Who.CLIENT else broker
            found.setdefault(software, Counter()).update(exercise.rules)
        return found

    def _pair(self, pair: Pair) -> Exercise:
        found = self.pairs.get(pair)
        if found is None:
            if len(self.pairs) >= MAX_PAIRS:
                client, broker = pair
                pair = client._replace(name=None, version=None), broker
            found = self.pairs.setdefault(pair, Exercise())
        return found
