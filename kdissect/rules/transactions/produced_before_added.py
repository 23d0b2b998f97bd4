"""TXN004: a partition must be added to a transaction before it is written."""

from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class ProducedBeforeAdded(FactRule):
    """A partition must be added to a transaction before it is written.

    Up to Produce v11; later versions add it by themselves (KIP-890). Brokers since 3.5 answer
    INVALID_TXN_STATE.

    Example: a transactional batch without AddPartitionsToTxn.

    What to do: wait for the answer to AddPartitionsToTxn.
    """

    code = "TXN004"
    name = "produced-before-added"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-98",)
    facts = (TransactionFact.PRODUCED_BEFORE_ADDED,)
    expects = "partitions that were added"
    sees = "partition {}"
