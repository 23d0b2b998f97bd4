"""An observation in the traffic that may begin an incident, or belong to one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from kdissect.model.cause import Certainty, FoundCause
from kdissect.model.finding import Finding

CAUSE, RULE, FILTER, MARK = "cause", "rule", "filter", "mark"


class Symptom(NamedTuple):
    """A cause of `why`, a finding of `check`, a filter that holds, or a mark of a person.

    `name` is the id of the cause, the code of the rule or the text of the condition. `level` is the severity
    of a cause or finding. `parties` name whom it concerns. `effects` are ids of causes that follow from a
    cause. `times` counts the occurrences from `since_ns` to `until_ns`.
    """

    kind: str
    name: str
    level: str
    title: str
    sentence: str
    parties: tuple[str, ...]
    since_ns: int
    until_ns: int
    times: int
    is_firm: bool = True
    """False for a cause that is no more than possible."""
    effects: tuple[str, ...] = ()
    condition: str = ""
    """Text of the condition that holds for it."""

    @classmethod
    def of_cause(cls, cause: FoundCause) -> Symptom:
        """Return a cause as a symptom."""
        return cls(
            CAUSE, cause.id, cause.severity.name.lower(), cause.title, cause.sentence,
            tuple(sorted(f"{kind} {name}" for kind, name in cause.parties)), cause.since_ns, cause.until_ns,
            cause.times, cause.certainty is not Certainty.POSSIBLE, tuple(one.id for one in cause.effects),
        )  # fmt: skip

    @classmethod
    def of_finding(cls, finding: Finding) -> Symptom:
        """Return a finding as a symptom."""
        party = finding.party
        return cls(
            RULE, finding.code, str(finding.severity), finding.name, f"{finding.claim}: {finding.seen}",
            (f"{party.role} {party.address}",), finding.place.time_ns,
            max(finding.last_time_ns, finding.place.time_ns), finding.count,
        )  # fmt: skip

    @classmethod
    def from_row(cls, row: list[Any]) -> Symptom:
        """Return what `list(symptom)` became in JSON."""
        return cls._make(tuple(value) if isinstance(value, list) else value for value in row)

    def is_problem_of(self, other: Symptom) -> bool:
        """Return whether both are about the same problem: equal names, and somebody in common.

        Parties come and go while a problem lasts, so that one in common is enough. A mark is about a moment.
        """
        return self.is_alike(other.kind, other.name, other.parties)

    def is_alike(self, kind: str, name: str, parties: Collection[str]) -> bool:
        """Return whether it is about the problem of this kind and name, which concerns these parties."""
        if (self.kind, self.name) != (kind, name) or kind == MARK:
            return False
        return not self.parties or not parties or bool(set(self.parties).intersection(parties))
