"""FET013: an incremental fetch must name a session the broker gave."""

from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import FactRule


class UnknownSession(FactRule):
    """An incremental fetch must name a session the broker gave.

    Brokers answer FETCH_SESSION_ID_NOT_FOUND. Sessions from before the capture are left out.

    Example: session 9 where 7 was given.

    What to do: begin with session 0 and epoch 0.
    """

    code = "FET013"
    name = "unknown-session"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("KIP-227",)
    facts = (FetchFact.UNKNOWN_SESSION,)
    expects = "a session that the broker gave"
    sees = "{}"
