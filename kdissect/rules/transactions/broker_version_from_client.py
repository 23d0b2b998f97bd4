"""TXN003: addPartitionsToTxn v4 and later is for brokers."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_CLIENT_ONLY = frozenset({22, 26})  # InitProducerId, EndTxn


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
        """Whether the connection also begins or ends transactions, as no broker does."""
        used = {key for key, _ in body.exchange.connection.api_versions_seen}
        if used & _CLIENT_ONLY:
            yield body.violation("transactions", "v3 or lower from a client", f"v{body.version}")
