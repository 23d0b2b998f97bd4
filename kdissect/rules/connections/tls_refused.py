"""CON004: A TLS handshake that one end breaks off."""

from collections.abc import Iterator

from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.rules.rule import Fault
from kdissect.session.problem import Reason


class TlsRefused(ProblemRule):
    """A TLS handshake that one end breaks off.

    By an alert, whose name says why its sender would not go on, or by closing. The end is known to speak
    Kafka. The finding names who ended it; whose fault that is the alert does not tell.

    Example: the client sends unknown_ca: it does not trust who signed the broker's certificate.

    What to do: unknown_ca, certificate_unknown: look at the client's truststore. bad_certificate,
    certificate_required from the broker: the client's own certificate. protocol_version, handshake_failure:
    versions and cipher suites.
    """

    code = "CON004"
    name = "tls-refused"
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    cites = ("RFC 8446 section 6.2",)
    reasons = (Reason.TLS_REFUSED,)
    expects = "a TLS handshake that finishes"

    def check(self, found: ConnectionProblem) -> Iterator[Fault]:
        """The end that broke the handshake off is named."""
        problem = found.problem
        yield Fault(self.expects, problem.fact, who=None if problem.by is None else Who(problem.by))
