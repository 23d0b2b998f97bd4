"""PRD007: a producer id must stay with the transactional id it was given for."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class OtherTransactionalId(FactRule):
    """A producer id must stay with the transactional id it was given for.

    Brokers answer INVALID_PRODUCER_ID_MAPPING.

    Example: id 5 given for `a`, used with `b`.

    What to do: ask InitProducerId for each transactional id.
    """

    code = "PRD007"
    name = "other-transactional-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "org.apache.kafka.common.protocol.Errors",
    )
    facts = (ProducerFact.OTHER_TRANSACTIONAL_ID,)
