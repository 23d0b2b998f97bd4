"""All symptoms of a capture, and which of them a cause explains."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kdissect.causes.ledger.normal import reason_why_normal
from kdissect.causes.ledger.symptom import Claim, Symptom, SymptomKind
from kdissect.model.cause import FoundCause

_BEFORE_NS = 5_000_000_000  # packets of several brokers: an effect may be seen before its cause
_AFTER_NS = 120_000_000_000  # as long as an effect follows from a cause (`diagnose.folded`)
_OF_CLIENTS = frozenset({"client", "group", "topic", "id"})


class Ledger:
    """Symptoms, each with the id of the cause that claims it."""

    def __init__(self, symptoms: Iterable[Symptom]) -> None:
        self.symptoms = list(symptoms)
        self.claimed: dict[int, str] = {}
        """By the number of the symptom."""

    def claim(
        self, cause: FoundCause, own: Collection[Claim], also: Collection[Claim], by: Collection[str]
    ) -> None:
        """Give a cause the symptoms that it explains.

        `own` are its claims about symptoms of its own parties. `also` are the claims of causes that
        follow from it: they need a party in common of one of the kinds `by`.
        """
        for number in self.claimable(cause, own, also, by):
            self.claimed.setdefault(number, cause.id)

    def claimable(
        self, cause: FoundCause, own: Collection[Claim], also: Collection[Claim], by: Collection[str]
    ) -> list[int]:
        """The numbers of the symptoms that a cause explains."""
        found = []
        for number, symptom in enumerate(self.symptoms):
            seen = symptom.seen
            is_then = (
                cause.since_ns - _BEFORE_NS <= seen.last_ns and seen.first_ns <= cause.until_ns + _AFTER_NS
            )
            if not is_then:
                continue
            common = {party.kind for party in cause.parties & symptom.parties}
            is_own = bool(common & _OF_CLIENTS) or common >= {"host", "broker"}
            if (is_own and any(one.covers(symptom) for one in own)) or (
                common & set(by) and any(one.covers(symptom) for one in also)
            ):
                found.append(number)
        return found

    def open(self, kind: SymptomKind) -> list[Symptom]:
        """Symptoms of one kind that no cause claims and that are not normal."""
        return [
            symptom
            for number, symptom in enumerate(self.symptoms)
            if symptom.kind is kind and number not in self.claimed and reason_why_normal(symptom) is None
        ]
