"""FET016: the epochs of a share session must count up by one."""

from kdissect.history.sessions.share_sessions import ShareFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class WrongShareEpoch(FactRule):
    """The epochs of a share session must count up by one.

    ShareFetch and ShareAcknowledge count together. Brokers answer INVALID_SHARE_SESSION_EPOCH.

    Example: epoch 3 after epoch 1.

    What to do: count each answered request; begin anew after a lost one.
    """

    code = "FET016"
    name = "wrong-share-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "KIP-932",
        "org.apache.kafka.common.requests.ShareRequestMetadata",
    )
    facts = (ShareFact.EPOCH_DIFFERS,)
