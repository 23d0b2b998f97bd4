"""All symptoms of a capture, and which of them a cause explains."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kdissect.causes.ledger.normal import reason_why_normal
from kdissect.causes.ledger.symptom import Claim, Symptom, SymptomKind
from kdissect.model.cause import FoundCause, are_apart
from kdissect.stats.client import Client

_BEFORE_NS = 5_000_000_000  # packets of several brokers: an effect may be seen before its cause
_AFTER_NS = 120_000_000_000  # as long as an effect follows from a cause (`diagnose.folded`)
_OF_CLIENTS = frozenset({"client", "group", "topic", "id"})


class Ledger:
    """Symptoms, each with the cause that claims it.

    `is_poor`: the capture lacks so much that limits of normal behavior do not count if they need the
    responses or requests after a symptom. `is_timed`: the times of the capture can be trusted.
    """

    def __init__(self, symptoms: Iterable[Symptom], *, is_poor: bool = False, is_timed: bool = True) -> None:
        self.symptoms = list(symptoms)
        self._parties = [symptom.parties for symptom in self.symptoms]
        self._is_poor, self._is_timed = is_poor, is_timed
        self.claimed: dict[int, FoundCause] = {}
        """By the number of the symptom."""

    def claim(
        self, cause: FoundCause, own: Collection[Claim], also: Collection[Claim], by: Collection[str]
    ) -> None:
        """Give a cause the symptoms that it explains.

        `own` are its claims about symptoms of its own parties. `also` are the claims of causes that follow
        from it: they need a common party whose kind is in `by`.
        """
        for number in self.claimable(cause, own, also, by):
            self.claimed.setdefault(number, cause)

    def claimable(
        self, cause: FoundCause, own: Collection[Claim], also: Collection[Claim], by: Collection[str]
    ) -> list[int]:
        """Return the numbers of the symptoms that a cause explains."""
        found = []
        names_clients = any(party.kind == "client" for party in cause.parties)
        for number, symptom in enumerate(self.symptoms):
            seen = symptom.seen
            is_then = (
                cause.since_ns - _BEFORE_NS <= seen.last_ns and seen.first_ns <= cause.until_ns + _AFTER_NS
            )
            parties = self._parties[number]
            if not is_then or are_apart(cause.parties, parties):
                continue
            common = {party.kind for party in cause.parties & parties}
            # A cause of one client does not explain what others on the same host meet.
            is_of_host = symptom.client.client_id is None or not names_clients
            is_own = bool(common & _OF_CLIENTS) or (is_of_host and common >= {"host", "broker"})
            # A host that cannot use one broker may have other trouble with another one.
            kinds = common & set(by)
            is_effect = bool(kinds - {"host"}) or (bool(kinds) and "broker" in common)
            if (is_own and any(one.covers(symptom) for one in own)) or (
                is_effect and any(one.covers(symptom) for one in also)
            ):
                found.append(number)
        return found

    def claims_on(self, client: Client, broker: str) -> Iterator[FoundCause]:
        """Yield the causes that claim symptoms of a client at a broker."""
        for number, cause in self.claimed.items():
            symptom = self.symptoms[number]
            is_client = symptom.client.client_id == client.client_id
            if is_client and symptom.client.address == client.address and symptom.broker == broker:
                yield cause

    def open(self, kind: SymptomKind) -> list[Symptom]:
        """Return symptoms of one kind that no cause claims and that are not normal."""
        return [
            symptom
            for number, symptom in enumerate(self.symptoms)
            if symptom.kind is kind and number not in self.claimed and self.reason_why_normal(symptom) is None
        ]

    def reason_why_normal(self, symptom: Symptom) -> str | None:
        """Return why a symptom is normal in this capture; None if it is not."""
        return reason_why_normal(symptom, is_poor=self._is_poor, is_timed=self._is_timed)
