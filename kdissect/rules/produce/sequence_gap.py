"""PRD004: the sequence numbers of a producer should go on without a gap."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import FactRule


class SequenceGap(FactRule):
    """The sequence numbers of a producer should go on without a gap.

    For each partition, within one epoch. Brokers answer OUT_OF_ORDER_SEQUENCE_NUMBER, unless they have
    forgotten the producer.

    Example: sequence 5 after a batch that ended with 2.

    What to do: number records for each partition; raise the epoch after an error.
    """

    code = "PRD004"
    name = "sequence-gap"
    level = Level.SHOULD
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "org.apache.kafka.storage.internals.log.ProducerAppendInfo",
    )
    facts = (
        ProducerFact.SEQUENCE_GAP,
        ProducerFact.SEQUENCE_BACK,
    )
    expects = "sequence {}"
    sees = "sequence {}"
