"""CON006: A broker that closes before any byte."""

from collections.abc import Iterator

from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.rules.rule import Fault
from kdissect.session.info import ConnectionKind
from kdissect.session.problem import Reason


class ClosedAtOnce(ProblemRule):
    """A broker that closes before any byte.

    It does so for hosts that have too many connections (max.connections.per.ip), and while it shuts down. The
    bytes do not tell which. Where it closes behind a request, PAI005, VER013, VER014 and VER017 speak.

    Example: SYN, SYN and ACK, ACK, and FIN of the broker 7 ms later.

    What to do: look at the log of the broker, and at max.connections.per.ip and its overrides.
    """

    code = "CON006"
    name = "closed-at-once"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("kafka.network.SocketServer",)
    reasons = (Reason.CLOSED_AT_ONCE,)
    expects = "a connection that stays open"

    def check(self, found: ConnectionProblem) -> Iterator[Fault]:
        """Without a byte: of a request that was not answered other rules tell."""
        if found.connection.kind is ConnectionKind.NO_DATA:
            yield Fault(self.expects, found.problem.fact)
