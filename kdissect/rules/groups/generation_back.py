"""GRP019: the generation or epoch that a coordinator tells should not go back."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.history.groups.modern_groups import ModernFact
from kdissect.model.finding import Claim, Level, Who
from kdissect.rules.kinds import FactRule


class GenerationBack(FactRule):
    """The generation or epoch that a coordinator tells should not go back.

    Generations of a classic group count up; epochs of members (KIP-848 and its kin) do so from 1 on. A group
    that was empty may begin anew. What members of that generation or epoch send is not judged.

    Example: JoinGroup is answered with generation 3 after 5, or a heartbeat with epoch 0.

    What to do: look for two coordinators of one group, or for lost state.
    """

    code = "GRP019"
    name = "generation-back"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "spec/000 JoinGroup API",
        "KIP-848",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
    )
    facts = (ClassicFact.GENERATION_WENT_BACK, ModernFact.EPOCH_WENT_BACK)
    expects = "{} or more"
    sees = "{}"
