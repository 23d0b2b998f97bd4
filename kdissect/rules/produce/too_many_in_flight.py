"""PRD008: An idempotent producer must not have more than 5 batches of a partition in flight."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class TooManyInFlight(FactRule):
    """An idempotent producer must not have more than 5 batches of a partition in flight.

    Brokers remember the last 5 batches of a producer and partition, and take a repeated older one for a
    gap. They do not refuse the sixth.

    Example: 6 Produce requests for one partition, none answered yet.

    What to do: limit max.in.flight.requests.per.connection to 5.
    """

    code = "PRD008"
    name = "in-flight-limit"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "org.apache.kafka.clients.producer.ProducerConfig",
        "org.apache.kafka.storage.internals.log.ProducerStateEntry",
    )
    facts = (ProducerFact.TOO_MANY_IN_FLIGHT,)
    expects = "{} batches at most"
    sees = "{} batches"
