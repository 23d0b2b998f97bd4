"""PRD006: a batch with a producer id must have an epoch and a sequence number."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class MixedProducerFields(FactRule):
    """A batch with a producer id must have an epoch and a sequence number.

    Brokers answer INVALID_RECORD.

    Example: producer id 5 with sequence -1.

    What to do: set all three, or none.
    """

    code = "PRD006"
    name = "mixed-producer-fields"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "org.apache.kafka.storage.internals.log.LogValidator",
    )
    facts = (ProducerFact.MIXED_FIELDS,)
    expects = "producer id, epoch and sequence, or none"
    sees = "epoch and sequence {}"
