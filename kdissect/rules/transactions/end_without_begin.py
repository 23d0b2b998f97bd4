"""TXN005: a transaction that was not begun must not be ended."""

from kdissect.history.transaction_steps import TransactionFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.rule import FactRule


class EndWithoutBegin(FactRule):
    """A transaction that was not begun must not be ended.

    Brokers answer INVALID_TXN_STATE.

    Example: EndTxn right after InitProducerId.

    What to do: end only what holds a partition or offsets.
    """

    code = "TXN005"
    name = "end-without-begin"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-98",
        "org.apache.kafka.coordinator.transaction.TransactionState",
    )
    facts = (TransactionFact.END_WITHOUT_BEGIN,)
    expects = "a transaction to end"
    sees = "EndTxn, committed {}"
