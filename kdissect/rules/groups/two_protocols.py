"""GRP021: all members of a generation must be told the same protocol."""

from kdissect.history.groups.classic_steps import ClassicFact
from kdissect.model.finding import Who
from kdissect.rules.kinds import FactRule


class TwoProtocols(FactRule):
    """All members of a generation must be told the same protocol.

    The leader assigns by one protocol, and members read what it assigns by theirs.

    Example: generation 5 with `range` for one member and `sticky` for another.

    What to do: choose once for each generation.
    """

    code = "GRP021"
    name = "two-protocols"
    who = Who.BROKER
    cites = ("spec/000 JoinGroup API", "org.apache.kafka.coordinator.group.GroupMetadataManager")
    facts = (ClassicFact.TWO_PROTOCOLS,)
    expects = "{}, as another member was told"
    sees = "{}"
