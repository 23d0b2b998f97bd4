"""TXN008: A producer that adds partitions itself must not use Produce v12 or TxnOffsetCommit v5 and later."""

from collections.abc import Iterator

from kdissect.history.fact import Fact
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Fault


class JoinedTwice(FactRule):
    """A producer that adds partitions itself must not use Produce v12 or TxnOffsetCommit v5 and later.

    From these versions on partitions and groups join a transaction by themselves, which brokers do where
    feature transaction.version is 2. A client uses AddPartitionsToTxn, or these versions.

    Example: AddPartitionsToTxn, then Produce v12.

    What to do: look at the finalized features of ApiVersions before choosing.
    """

    code = "TXN008"
    name = "one-way-to-join"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-890",)
    facts = (TransactionFact.JOINED_TWICE,)

    def check(self, fact: Fact) -> Iterator[Fault]:
        """The version stands in the header."""
        for fault in super().check(fact):
            seen = f"version {fact.seen} in a transaction with AddPartitionsToTxn"
            yield fault._replace(expected="one way to join", seen=seen, path="", start=2, end=4)
