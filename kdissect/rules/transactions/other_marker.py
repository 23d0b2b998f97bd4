"""TXN009: The markers of a transaction must say what EndTxn asked for."""

from collections.abc import Iterator

from kdissect.history.fact import Fact
from kdissect.history.producing.transaction_steps import TransactionFact
from kdissect.model.finding import Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Fault


class OtherMarker(FactRule):
    """The markers of a transaction must say what EndTxn asked for.

    The coordinator sends WriteTxnMarkers to the leaders of all partitions, and readers believe the markers.

    Example: EndTxn to commit, and markers that abort.

    What to do: look at the coordinator; readers of the topics saw another end than the producer.
    """

    code = "TXN009"
    name = "marker-as-asked"
    who = Who.CLIENT
    cites = ("KIP-98", "org.apache.kafka.coordinator.transaction.TransactionState")
    facts = (TransactionFact.MARKER_DIFFERS,)

    def check(self, fact: Fact) -> Iterator[Fault]:
        """Whether they commit."""
        for fault in super().check(fact):
            yield fault._replace(expected=_word(fact.expected), seen=_word(fact.seen), path="")


def _word(committed: object) -> str:
    return "markers that commit" if committed else "markers that abort"
