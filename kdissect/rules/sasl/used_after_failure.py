"""SAS008: a connection must end when authentication fails."""

from kdissect.history.connections.sasl_login import SaslFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class UsedAfterFailure(FactRule):
    """A connection must end when authentication fails.

    Brokers close it after a delay; nothing sent in between is answered.

    Example: SASL_AUTHENTICATION_FAILED, then Metadata.

    What to do: close the connection and begin anew.
    """

    code = "SAS008"
    name = "used-after-failure"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("spec/000 SASL Authentication Sequence",)
    facts = (SaslFact.USED_AFTER_FAILURE,)
    expects = "no request after a failure"
    sees = "a request of API key {}"
