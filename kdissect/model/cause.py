"""Why something went wrong, as plain values: what `kdissect why` reports."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import IntEnum, StrEnum
from typing import NamedTuple

CAUSES_SHOWN = 12  # a page


class Severity(IntEnum):
    """Effect of a cause on the parties it concerns. Lower ones come first on the page."""

    STOPS = 0  # somebody cannot do his work at all
    DATA = 1  # records are lost, written twice, skipped, or read again
    DELAYS = 2  # work is late
    WASTES = 3  # it costs more than it needs to


class Certainty(StrEnum):
    """How sure a cause is."""

    SURE = "sure"  # the packets say so
    LIKELY = "likely"  # they allow no other reading
    POSSIBLE = "possible"  # something that was not captured may explain them, too


class Cost(NamedTuple):
    """Cost of a cause. `time_ns` has the waits of members, clients or requests added up. They may overlap."""

    time_ns: int = 0
    errors: int = 0
    retries: int = 0
    bytes: int = 0
    records: int = 0

    def __add__(self, other: object) -> Cost:
        """Return both together."""
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(*(mine + its for mine, its in zip(self, other, strict=True)))

    @property
    def weight(self) -> float:
        """By what costs of several kinds are ranked: about milliseconds that somebody waits."""
        return self.time_ns / 1e6 + 100 * self.errors + 50 * self.retries + self.bytes / 1e4 + self.records


class Party(NamedTuple):
    """Somebody or something that a cause concerns.

    `kind`: client, host, group, broker, topic, id, cluster.
    """

    kind: str
    name: str


def are_apart(some: Collection[Party], others: Collection[Party]) -> bool:
    """Return whether both are of known clusters, and have none in common: equal names are not the same
    then.
    """
    clusters, its = ({one.name for one in parties if one.kind == "cluster"} for parties in (some, others))
    return bool(clusters and its) and not clusters & its


class Packets(NamedTuple):
    """Where to look: an exchange (`exchange` below 0: the whole connection), and its packets.

    `first_ref` and `last_ref` are packet references, 0 where the packets cannot be named.
    """

    connection: str
    exchange: int = -1
    what: str = ""
    time_ns: int = 0
    first_ref: int = 0
    last_ref: int = 0


class Effect(NamedTuple):
    """Another cause that follows from this one."""

    id: str
    sentence: str
    times: int


class FoundCause(NamedTuple):
    """One cause in a capture.

    `who` names in words those whom it costs. `command` are the arguments of kdissect that show more,
    `{files}` for the inputs. `why_not_surer` is empty if it is sure. `moments` are the times of the
    occurrences in nanoseconds; empty if only the first and the last are known.
    """

    id: str
    title: str
    severity: Severity
    sentence: str
    who: str
    parties: frozenset[Party]
    since_ns: int
    until_ns: int
    times: int
    cost: Cost
    certainty: Certainty
    why_not_surer: str
    evidence: tuple[Packets, ...]
    command: str
    help: str
    cites: tuple[str, ...]
    effects: tuple[Effect, ...] = ()
    moments: tuple[int, ...] = ()


def in_order(causes: Iterable[FoundCause]) -> list[FoundCause]:
    """Return the worst first: by effect, with merely possible causes after sure and likely ones, then by
    cost. Of causes that waste, sure ones come first.
    """

    def rank(one: FoundCause) -> tuple[int, bool, float, int, str, str]:
        wastes = one.severity is Severity.WASTES
        is_later = one.certainty is not Certainty.SURE if wastes else one.certainty is Certainty.POSSIBLE
        return one.severity, is_later, -one.cost.weight, one.since_ns, one.id, one.sentence

    return sorted(causes, key=rank)


class RefutedCause(NamedTuple):
    """A cause that is not printed: what it would say, the law, and what in the capture contradicts it."""

    id: str
    sentence: str
    law: str
    against: str


class Explanation(NamedTuple):
    """The evidence for and against one cause, whether it is printed or not.

    `laws` are the laws that it must survive, `symptoms` the symptoms that it may explain, each with the
    result.
    """

    id: str
    title: str
    given: tuple[FoundCause, ...]
    refuted: tuple[RefutedCause, ...]
    laws: tuple[str, ...]
    symptoms: tuple[str, ...]
    files: tuple[str, ...]


class Diagnosis(NamedTuple):
    """Faults found in captures, the worst first, with the parts that were analyzed and those that were not.

    `left_out` counts causes beyond the limit, which are lesser ones. `against` are the inputs it was compared
    with, in which these causes are not, or cost less.
    """

    causes: tuple[FoundCause, ...]
    left_out: int
    looked_at: tuple[str, ...]
    not_seen: tuple[str, ...]
    files: tuple[str, ...]
    first_ns: int
    last_ns: int
    against: tuple[str, ...] = ()
    nothing_judged: str = ""
    """Why nothing could be judged, as a headline. Empty if there was Kafka to judge."""
    partly_judged: str = ""
    """Connections that may be Kafka and could not be read. Empty if there were none."""
    unread: tuple[str, ...] = ()
    """Inputs that were not read to their end."""
