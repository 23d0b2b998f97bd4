"""MET007: A broker names an address to its clients at which no process listens."""

from collections.abc import Iterator

from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.rules.rule import Violation
from kdissect.session.problem import Reason


class AdvertisedUnreached(ProblemRule):
    """A broker names an address to its clients at which no process listens.

    Metadata, FindCoordinator or DescribeCluster named the address to the client. Its SYN to that address
    is answered with RST, or sent again without an answer, and no byte ever came from there. A node that is
    down all the time has this effect, too. The rule judges the address: the client used what it received.

    Example: advertised.listeners is PLAINTEXT://127.0.0.1:9093, without a listener.

    What to do: set advertised.listeners to an address that clients can reach, for each listener.
    """

    code = "MET007"
    name = "advertised-unreached"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("spec/000 Partitioning and bootstrapping",)
    reasons = (Reason.ADVERTISED_UNREACHED,)
    expects = "a connection to the address that was advertised"

    def check(self, found: ConnectionProblem) -> Iterator[Violation]:
        """With the answer that named the address."""
        advertised = found.advertised
        earlier = None if advertised is None else (advertised.by.connection, advertised.by.ordinal)
        yield Violation(self.expects, found.problem.fact, earlier=earlier)
