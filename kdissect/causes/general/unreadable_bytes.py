"""`unreadable-bytes`: one end sends bytes that the other end cannot read."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import times
from kdissect.causes.general.general_cause import GeneralCause, Together
from kdissect.causes.ledger.symptom import Symptom, SymptomKind
from kdissect.model.cause import Cost, Severity
from kdissect.rules.registry import ALL_RULES

_MOST = 0.5  # of the places
_WHOSE = {rule.code: (rule.name, rule.who) for rule in ALL_RULES}


class UnreadableBytes(GeneralCause):
    """Findings of `check` about sizes, bodies and the order of responses."""

    id = "unreadable-bytes"
    title = "One end sends bytes that the other end cannot read"
    kind = SymptomKind.BROKEN
    severity = Severity.STOPS
    explains = ("requests-unanswered", "broker-closes", "connection-churn", "connections-fail")
    explains_by = frozenset({"client", "host"})
    help = (
        "See the finding with `kdissect check`: it names the bytes and the rule. Upgrade the client,"
        " broker or proxy that writes them. Most clients close the connection and ask again without end."
    )
    cites = ("spec/000 Versioning and Compatibility",)

    def alike(self, symptom: Symptom) -> Hashable:
        """Return a rule and the two ends."""
        return symptom.client, symptom.broker, symptom.detail

    def sentence(self, found: Together) -> str:
        """Return which bytes, and who left."""
        first = found.first
        name, _ = _WHOSE[first.detail]
        left = found.total_left
        then = f" The other end closed the connection right after it ({times(left)})." if left else ""
        return (
            f"Bytes between {found.who} and {first.broker} break the rule {name} ({first.detail})"
            f" {times(found.seen.times)}: {first.message}.{then}"
        )

    def weight(self, found: Together) -> Severity:
        """Return whether the other end left, most times or sometimes."""
        if found.total_left > _MOST * found.seen.times:
            return Severity.STOPS
        return Severity.DELAYS if found.total_left else Severity.WASTES

    def cost(self, found: Together) -> Cost:
        """Return each place."""
        return Cost(errors=found.seen.times)

    def command(self, found: Together) -> str:
        """Return the findings."""
        return "check {files}"
