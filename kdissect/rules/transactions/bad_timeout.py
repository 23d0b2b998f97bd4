"""TXN001: A transaction timeout must be more than 0."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


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

    def check(self, body: Body) -> Iterator[Violation]:
        """The timeout of transactional producers."""
        if body.value.transactional_id is not None and body.value.transaction_timeout_ms <= 0:
            yield body.violation(
                "transaction_timeout_ms", "more than 0", str(body.value.transaction_timeout_ms)
            )
