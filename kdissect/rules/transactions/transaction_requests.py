"""Rules: requests of transactions, and the epochs of their responses."""

from collections.abc import Iterator

from kdissect.decoders.generated.values import sent
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.guards import Above, Below, Empty
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
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
        """Yield a violation if the connection also begins or ends transactions, as no broker does."""
        used = {key for key, _ in body.exchange.connection.api_versions_seen}
        if used & _CLIENT_ONLY:
            yield body.violation("transactions", "v3 or lower from a client", f"v{body.version}")

    def needs_judge(self, body: Body) -> bool:
        """Return True: the rule reads the requests of the connection, which rows do not have."""
        return True


class EpochNotRaised(BodyRule):
    """A coordinator must raise the epoch of a producer that it lets go on.

    InitProducerId with the producer's id and epoch gives it the next epoch. EndTxn from version 5 on gives
    the epoch of the next transaction. A request that is sent again gets the same response. If the epochs are
    used up, the response has another id.

    Example: EndTxn v5 of producer 7 in epoch 3, answered with producer 7 and epoch 3.

    What to do: look at the coordinator. It cannot distinguish the producer from an older one in its epoch.
    """

    code = "TXN013"
    name = "epoch-not-raised"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "KIP-360 Proposed Changes",
        "KIP-890 Proposed Changes",
        "kafka.coordinator.transaction.TransactionCoordinator#endTransaction",
        "kafka.coordinator.transaction.TransactionCoordinator#handleInitProducerId",
    )
    on = (("InitProducerId", RESPONSE), ("EndTxn", RESPONSE))
    versions = Versions(3, 5)  # InitProducerId 6 may keep a prepared transaction
    guard = (Above((".producer_id",), -1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the epoch of the same producer id, if it does not rise."""
        asked, answered = body.other(), body.value
        if asked is None or answered.error_code or asked.producer_id < 0:
            return
        if sent(answered, "producer_id", -1) == asked.producer_id:
            before, now = asked.producer_epoch, answered.producer_epoch
            if before >= now:
                yield body.violation("producer_epoch", f"more than {before}", str(now))
