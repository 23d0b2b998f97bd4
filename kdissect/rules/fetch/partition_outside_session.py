"""FET014: a fetch session must answer for its own partitions."""

from kdissect.history.sessions.fetch_sessions import FetchFact
from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import FactRule


class PartitionOutsideSession(FactRule):
    """A fetch session must answer for its own partitions.

    Clients drop the records of others, or fail.

    Example: partition 6 answered where the session holds partition 5.

    What to do: keep the session and its answers together.
    """

    code = "FET014"
    name = "partition-outside-session"
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-227",)
    facts = (FetchFact.STRANGE_PARTITION,)
    expects = "partitions of the session"
    sees = "partition {}"
