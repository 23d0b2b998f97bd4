"""PRD003: an idempotent Produce must ask for acks -1."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class WeakAcks(FactRule):
    """An idempotent Produce must ask for acks -1.

    With less, what was acknowledged may be lost, and idempotence with it. Brokers do not refuse it.

    Example: a batch with a producer id, and acks 1.

    What to do: send acks -1.
    """

    code = "PRD003"
    name = "weak-acks"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "KIP-679",
    )
    facts = (ProducerFact.WEAK_ACKS,)
