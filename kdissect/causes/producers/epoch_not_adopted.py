"""`epoch-not-adopted`: a producer goes on with an epoch that the coordinator has replaced."""

from __future__ import annotations

from kdissect.causes.cause import clients_text, quoted
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.producers.fenced_producer import FencedProducer, users
from kdissect.history.api_keys import END_TXN
from kdissect.history.fact import Fact
from kdissect.model.cause import Severity
from kdissect.model.wording import plural

_INVALID_PRODUCER_EPOCH = 47  # org.apache.kafka.common.protocol.Errors
_OLD = ("TransactionFact.old_epoch", "TransactionFact.epoch_not_taken")  # on another connection, on the same


class EpochNotAdopted(FencedProducer):
    """One producer that does not take the epoch of the response to its own EndTxn."""

    id = "epoch-not-adopted"
    title = "A producer does not adopt its new epoch"
    severity = Severity.STOPS
    codes = frozenset({_INVALID_PRODUCER_EPOCH})
    help = (
        "Update the client, or correct it: from EndTxn version 5 on the response has the producer epoch of"
        " the next transaction. A client that does not know it has to use EndTxn version 4 or older."
    )
    cites = ("KIP-890 Motivation", "org.apache.kafka.common.protocol.Errors#INVALID_PRODUCER_EPOCH")

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """One client alone uses the id, and EndTxn gave it a higher epoch than it sends."""
        (txn, *_) = (*errors.names("txn"), "")
        rows = [row for row in seen.producers["transactional_ids"] if row["transactional_id"] == txn]
        clients = {client.client_id for client in errors.clients}
        is_alone = len(rows) == 1 and rows[0]["taken"] <= 1 and users(rows[0]) <= clients
        return is_alone and bool(_old_epochs(errors, seen))

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return the doubt if packets may be missing, which the fact says."""
        is_sure = any(fact.sure for fact in _old_epochs(errors, seen))
        return "" if is_sure else "packets of the producer may be missing"

    def sentence(self, errors: Errors) -> str:
        """Return which id, and which requests fail."""
        return (
            f"{clients_text(errors.clients)} goes on with the former epoch of its transactional id"
            f" {quoted(errors.names('txn'))}, though the response to its EndTxn gave it a new one:"
            f" {plural(errors.seen.times, 'request')} failed."
        )


def _old_epochs(errors: Errors, seen: Evidence) -> list[Fact]:
    """Return requests of the id with a lower epoch than the response to EndTxn gave."""
    ids = errors.names("txn")
    facts = [known.fact for known in seen.facts(*_OLD)]
    return [
        fact
        for fact in facts
        if fact.key[1] in ids and fact.earlier is not None and fact.earlier.api_key == END_TXN
    ]
