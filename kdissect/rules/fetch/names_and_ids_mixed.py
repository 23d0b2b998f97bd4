"""FET015: a fetch session must not go over from topic names to ids."""

from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class NamesAndIdsMixed(FactRule):
    """A fetch session must not go over from topic names to ids.

    Brokers answer FETCH_SESSION_TOPIC_ID_ERROR.

    Example: Fetch v12 opens a session, v13 goes on with it.

    What to do: open a new session with the other version.
    """

    code = "FET015"
    name = "names-and-ids-mixed"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-516",
        "KIP-227",
    )
    facts = (FetchFact.TOPIC_IDS_MIXED,)
