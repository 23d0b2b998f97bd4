"""PRD005: a new epoch must begin with sequence number 0."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class EpochNotFromZero(FactRule):
    """A new epoch must begin with sequence number 0.

    Brokers answer OUT_OF_ORDER_SEQUENCE_NUMBER.

    Example: a producer id just given, and sequence 3.

    What to do: begin with 0 after InitProducerId.
    """

    code = "PRD005"
    name = "epoch-not-from-zero"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.storage.internals.log.ProducerAppendInfo",)
    facts = (ProducerFact.EPOCH_NOT_FROM_ZERO,)
    expects = "sequence {}"
    sees = "sequence {}"
