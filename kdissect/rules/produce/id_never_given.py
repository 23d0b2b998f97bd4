"""PRD009: A producer should use the id that InitProducerId gave it."""

from kdissect.history.producing.producers import ProducerFact
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import FactRule


class IdNeverGiven(FactRule):
    """A producer should use the id that InitProducerId gave it.

    Told only where the connection itself gave another id: the answer with an id may have come on a
    connection that was not captured.

    Example: id 5 given, id 6 used.

    What to do: use the id of the last answer; do not share ids between producers.
    """

    code = "PRD009"
    name = "producer-id-given"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("KIP-98",)
    facts = (ProducerFact.NEVER_GIVEN,)
    expects = "producer id {}, which the connection gave"
    sees = "producer id {}"
