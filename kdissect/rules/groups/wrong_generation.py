"""GRP010: a member must use the generation of its last JoinGroup."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import FactRule


class WrongGeneration(FactRule):
    """A member must use the generation of its last JoinGroup.

    Brokers answer ILLEGAL_GENERATION.

    Example: generation 3 after joining generation 2.

    What to do: keep the generation of the answer; join again after an error.
    """

    code = "GRP010"
    name = "wrong-generation"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = (
        "spec/000 Heartbeat API",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
    )
    facts = (ClassicFact.GENERATION_DIFFERS,)
