"""TXN005: a transaction that was not begun must not be ended."""

from collections.abc import Iterable

from kdissect.history.fact import Fact
from kdissect.history.producing.transaction_steps import REPEATED, TransactionFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Fault


class EndWithoutBegin(FactRule):
    """A transaction that was not begun must not be ended.

    Brokers answer INVALID_TXN_STATE. One that ended may be ended the same way again, as after a lost answer.

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

    def check(self, fact: Fact) -> Iterable[Fault]:
        """The first end without a transaction."""
        return () if fact.detail == REPEATED else super().check(fact)
