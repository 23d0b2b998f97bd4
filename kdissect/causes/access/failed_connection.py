"""Common base of causes about failed connections (`session.problem`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from kdissect.causes.cause import Cause, client_text, joined, times
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.session.info import ConnectionInfo
from kdissect.session.problem import Reason
from kdissect.stats.client import host_of

LOOKS = "connections {files} --problems"


class FailedConnection(Cause):
    """Connections of one host to one end that failed for one of `reasons`."""

    severity = Severity.STOPS
    may_be_missing_packets = False
    explains = ("connection-churn", "broker-closes", "metadata-storm")
    explains_by = frozenset({"host"})
    reasons: ClassVar[tuple[Reason, ...]] = ()
    least: ClassVar[int] = 1

    def own_claims(self) -> tuple[Claim, ...]:
        """Return connections that failed for its reasons."""
        return (Claim(SymptomKind.CONNECTION, details=frozenset(map(str, self.reasons))), *self.claims)

    @abstractmethod
    def sentence(self, host: str, end: str, problems: list[ConnectionProblem]) -> str:
        """Return the event, for people."""

    def left(self, seen: Evidence) -> dict[tuple[str, str], list[ConnectionProblem]]:
        """Return the connections that it may be about, by host and end."""
        return failed(seen, self.reasons)

    def holds(self, problems: list[ConnectionProblem], seen: Evidence) -> bool:
        """Return whether connections that failed so are the cause."""
        return len(problems) >= self.least

    def context(self, problems: list[ConnectionProblem], seen: Evidence) -> tuple[str, str]:
        """Return an addition to the sentence from other parts of the capture, and why the cause is not sure.

        Each is empty if there is nothing. An end that is not known to speak Kafka may be somebody else's.
        """
        is_kafka = any(one.is_kafka for one in problems)
        return "", "" if is_kafka else "nothing in the capture shows that Kafka listens there"

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each host and end."""
        for (host, end), problems in self.left(seen).items():
            if self.holds(problems, seen):
                more, not_surer = self.context(problems, seen)
                said = self.sentence(host, end, problems), more, _origin(seen, problems[0].connection)
                yield self.found(
                    " ".join(filter(None, said)),
                    _who(host, problems),
                    parties(host, end, problems),
                    seen_of(problems),
                    Cost(errors=len(problems)),
                    LOOKS,
                    not_surer,
                )


def _origin(seen: Evidence, info: ConnectionInfo) -> str:
    """Return the sender of an end's address, if the address only came next to an error."""
    told = seen.node_endpoint(info)
    if told is None:
        return ""
    return (
        f"The address is in the NodeEndpoints of the {told.api} response of {told.broker} to"
        f" {client_text(told.client)}, as that of node {told.node}, and in no Metadata response of the"
        f" capture (exchange {told.packets.connection}/{told.packets.exchange})."
    )


def failed(seen: Evidence, reasons: tuple[Reason, ...]) -> dict[tuple[str, str], list[ConnectionProblem]]:
    """Return problems by host of the client and end that it connected to."""
    found: dict[tuple[str, str], list[ConnectionProblem]] = {}
    for one in seen.problems(*reasons):
        host = host_of(one.connection)
        found.setdefault((host, one.connection.broker_text), []).append(one)
    return found


def seen_of(problems: list[ConnectionProblem]) -> Seen:
    """Return how many, and since when."""
    seen = Seen()
    for one in sorted(problems, key=lambda problem: problem.connection.start_ns):
        info = one.connection
        seen.add(Packets(info.id, -1, f"{info.client_text} > {info.broker_text}", info.start_ns))
    return seen


def parties(host: str, end: str, problems: list[ConnectionProblem]) -> frozenset[Party]:
    """Return the host, the end, and what clients called themselves."""
    ids = {one.connection.client_id for one in problems}
    return frozenset(
        {
            Party("host", host),
            Party("broker", end),
            *(Party("client", name) for name in ids if name is not None),
        }
    )


def _who(host: str, problems: list[ConnectionProblem]) -> str:
    ids = dict.fromkeys(one.connection.client_id for one in problems if one.connection.client_id)
    named = joined([f"'{name}'" for name in ids])
    return f"client {named} at {host}" if named else f"whoever connects from {host}"


def often(problems: list[ConnectionProblem]) -> str:
    """`once`, `12 times`."""
    return times(len(problems))
