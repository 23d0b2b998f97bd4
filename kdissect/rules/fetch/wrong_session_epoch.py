"""FET012: the epochs of a fetch session must count up by one."""

from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class WrongSessionEpoch(FactRule):
    """The epochs of a fetch session must count up by one.

    After 2147483647 comes 1. Brokers answer INVALID_FETCH_SESSION_EPOCH.

    Example: epoch 3 after epoch 1.

    What to do: count each answered fetch; begin a new session after a lost one.
    """

    code = "FET012"
    name = "wrong-session-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-227",
        "org.apache.kafka.common.requests.FetchMetadata",
    )
    facts = (FetchFact.EPOCH_DIFFERS,)
