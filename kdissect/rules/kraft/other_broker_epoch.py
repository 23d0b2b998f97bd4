"""KRF001: BrokerHeartbeat must carry the epoch of the broker's last registration."""

from kdissect.history.epochs.broker_epochs import BrokerFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class OtherBrokerEpoch(FactRule):
    """BrokerHeartbeat must carry the epoch of the broker's last registration.

    Controllers answer STALE_BROKER_EPOCH: an older process of the same id must not keep it alive.

    Example: epoch 12 registered, heartbeats with 7.

    What to do: keep the epoch that BrokerRegistration answered.
    """

    code = "KRF001"
    name = "broker-epoch"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-631",)
    facts = (BrokerFact.OTHER_EPOCH,)
    expects = "broker epoch {}"
    sees = "broker epoch {}"
