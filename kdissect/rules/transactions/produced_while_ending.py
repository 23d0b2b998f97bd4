"""TXN006: nothing must be produced in a transaction while it ends."""

from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class ProducedWhileEnding(FactRule):
    """Nothing must be produced in a transaction while it ends.

    Between EndTxn and its answer a batch may miss its transaction or fall into the next.

    Example: Produce while EndTxn is not answered.

    What to do: wait for the answer.
    """

    code = "TXN006"
    name = "produced-while-ending"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-98",)
    facts = (TransactionFact.PRODUCED_WHILE_ENDING,)
    shadows = ("TXN004",)
    expects = "no batch until EndTxn is answered"
    sees = "a batch"
