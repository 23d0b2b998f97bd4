"""FET017: a share session must not open with acknowledgements."""

from kdissect.history.sessions.share_sessions import ShareFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class AcknowledgedAtOpening(FactRule):
    """A share session must not open with acknowledgements.

    Nothing was acquired in it yet. Brokers answer INVALID_REQUEST.

    Example: share_session_epoch 0 with acknowledgement batches.

    What to do: acknowledge within the session that acquired.
    """

    code = "FET017"
    name = "acknowledged-at-opening"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-932",
        "org.apache.kafka.common.requests.ShareRequestMetadata",
    )
    facts = (ShareFact.ACKNOWLEDGED_AT_OPENING,)
    expects = "no acknowledgements"
    sees = "acknowledgements"
