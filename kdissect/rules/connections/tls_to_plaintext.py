"""CON001: A client that speaks TLS to a plaintext listener."""

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.session.problem import Reason


class TlsToPlaintext(ProblemRule):
    """A client that speaks TLS to a plaintext listener.

    The first bytes of the client are a TLS ClientHello, the broker closes without a byte, and other
    connections to the same address and port speak Kafka without TLS. A broker reads the hello as a frame of
    some 350 MB (`InvalidReceiveException: Invalid receive (size = 369295616)`). Which of the two settings is
    wrong the bytes do not tell.

    Example: `16 03 01`, and FIN 2 ms later, on port 9092.

    What to do: set security.protocol of the client as the listener has it, or give the client the port of a
    listener with TLS.
    """

    code = "CON001"
    name = "tls-to-plaintext"
    level = Level.INFO
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.network.NetworkReceive", "RFC 8446 section 5.1")
    reasons = (Reason.TLS_TO_PLAINTEXT,)
    expects = "a request of Kafka: other connections to this end speak it without TLS"
