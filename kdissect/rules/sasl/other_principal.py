"""SAS012: Re-authentication must be as the same principal."""

from collections.abc import Iterator

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.history.fact import Fact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule
from kdissect.rules.rule import Violation


class OtherPrincipal(FactRule):
    """Re-authentication must be as the same principal.

    Brokers close the connection otherwise, as what it may do was decided for the first one.

    Example: alice, and bob after an hour.

    What to do: open another connection for another principal.
    """

    code = "SAS012"
    name = "same-principal"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-368 Proposed Changes",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleSaslToken",
    )
    facts = (SaslFact.PRINCIPAL_CHANGED,)

    def check(self, fact: Fact) -> Iterator[Violation]:
        """Yield the names, without the secret bytes of the token."""
        for fault in super().check(fact):
            yield fault._replace(path="")
