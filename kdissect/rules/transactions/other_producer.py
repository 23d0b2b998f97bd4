"""TXN007: transactional requests must name the producer id and epoch given last."""

from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class OtherProducer(FactRule):
    """Transactional requests must name the producer id and epoch given last.

    Brokers answer INVALID_PRODUCER_ID_MAPPING or INVALID_PRODUCER_EPOCH.

    Example: id 5 given, id 6 used.

    What to do: keep what InitProducerId, and EndTxn from v5 on, answered.
    """

    code = "TXN007"
    name = "other-producer"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "KIP-890",
    )
    facts = (TransactionFact.OTHER_PRODUCER,)
