"""Rules: what requests of transactions must hold."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import Below, Empty
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_CLIENT_ONLY = frozenset({22, 26})  # InitProducerId, EndTxn


class BadTransactionTimeout(BodyRule):
    """A transaction timeout must be more than 0.

    Brokers answer INVALID_TRANSACTION_TIMEOUT, also above their `transaction.max.timeout.ms`. Without a
    transactional id it is ignored.

    Example: transaction_timeout_ms 0.

    What to do: set `transaction.timeout.ms`.
    """

    code = "TXN001"
    name = "bad-transaction-timeout"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = (
        "KIP-98 Proposed Changes",
        "kafka.coordinator.transaction.TransactionCoordinator#handleInitProducerId",
    )
    on = (("InitProducerId", REQUEST),)
    guard = (Below((".transaction_timeout_ms",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the timeout of transactional producers."""
        if body.value.transactional_id is not None and body.value.transaction_timeout_ms <= 0:
            yield body.violation(
                "transaction_timeout_ms", "more than 0", str(body.value.transaction_timeout_ms)
            )


class EmptyTransactionalId(BodyRule):
    """A transactional id must not be empty.

    Null says "no transactions"; the empty string is refused with INVALID_REQUEST.

    Example: InitProducerId with transactional_id "".

    What to do: send null, or a name.
    """

    code = "TXN002"
    name = "empty-transactional-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("kafka.coordinator.transaction.TransactionCoordinator#handleInitProducerId",)
    on = (("InitProducerId", REQUEST),)
    guard = (Empty((".transactional_id",)),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the field."""
        if body.value.transactional_id == "":
            yield body.violation("transactional_id", "null or a name", "an empty string")


class BrokerVersionFromClient(BodyRule):
    """AddPartitionsToTxn v4 and later is for brokers.

    Clients use up to v3. A broker that verifies or adds a partition for a producer uses v4 or later, with
    cluster rights.

    Example: AddPartitionsToTxn v5 on the connection that sent InitProducerId.

    What to do: use v3 in clients.
    """

    code = "TXN003"
    name = "broker-version-from-client"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-890 Proposed Changes", "kafka.server.KafkaApis#handleAddPartitionsToTxnRequest")
    on = (("AddPartitionsToTxn", REQUEST),)
    versions = Versions(4, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield whether the connection also begins or ends transactions, as no broker does."""
        used = {key for key, _ in body.exchange.connection.api_versions_seen}
        if used & _CLIENT_ONLY:
            yield body.violation("transactions", "v3 or lower from a client", f"v{body.version}")
