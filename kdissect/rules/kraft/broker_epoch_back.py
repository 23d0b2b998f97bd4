"""KRF002: The epoch of a registration must be higher than that of the one before."""

from kdissect.history.epochs.broker_epochs import BrokerFact
from kdissect.model.finding import Who
from kdissect.rules.kinds import FactRule


class BrokerEpochBack(FactRule):
    """The epoch of a registration must be higher than that of the one before.

    It is the offset of the registration in the metadata log, and tells which process of a broker is the
    newest.

    Example: epoch 12, then 9.

    What to do: look whether the brokers belong to one cluster, and whether its log was lost.
    """

    code = "KRF002"
    name = "broker-epoch-rises"
    who = Who.BROKER
    cites = ("KIP-631",)
    facts = (BrokerFact.WENT_BACK,)
    expects = "a broker epoch above {}"
    sees = "broker epoch {}"
