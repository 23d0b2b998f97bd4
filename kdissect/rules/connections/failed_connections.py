"""Rules: failed connections."""

from collections.abc import Iterator

from kdissect.history.connections.connection_problems import ConnectionProblem
from kdissect.model.finding import Claim, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.rules.rule import Violation
from kdissect.session.info import ConnectionKind
from kdissect.session.problem import Reason


class TlsToPlaintext(ProblemRule):
    """A client that speaks TLS to a plaintext listener.

    The first bytes of the client are a TLS ClientHello, the broker closes without a byte, and other
    connections to the same address and port speak Kafka without TLS. A broker reads the hello as a frame of
    some 350 MB (`InvalidReceiveException: Invalid receive (size = 369295616)`). The bytes do not show which
    of the two settings is wrong.

    Example: `16 03 01`, and FIN 2 ms later, on port 9092.

    What to do: set security.protocol of the client as the listener has it, or give the client the port of a
    listener with TLS.
    """

    code = "CON001"
    name = "tls-to-plaintext"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.network.NetworkReceive#readFrom", "RFC 8446 section 5.1")
    reasons = (Reason.TLS_TO_PLAINTEXT,)
    expects = "a request of Kafka: other connections to this end speak it without TLS"


class PlaintextToTls(ProblemRule):
    """A client that speaks plaintext to a TLS listener.

    The client sends requests of Kafka, and the first bytes of the answer are a TLS alert: the listener
    speaks TLS. Clients read the alert as the size of a frame, 352518912. The bytes do not show which of
    the two settings is wrong.

    Example: ApiVersions v3, answered by `15 03 03 00 02 02 50`, the alert internal_error.

    What to do: set security.protocol of the client to SSL or SASL_SSL, or give it the port of a plaintext
    listener.
    """

    code = "CON002"
    name = "plaintext-to-tls"
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("RFC 8446 section 6",)
    reasons = (Reason.PLAINTEXT_TO_TLS,)
    expects = "a TLS ClientHello: the end answers with TLS"


class CertificateName(ProblemRule):
    """A certificate for another address than the client asked for, refused by the client.

    The client breaks the TLS handshake off behind the broker's certificate, and no name in that is the host
    name (SNI) or IP address that the client asked for. TLS 1.3 shows it with a key log alone. A client may
    have had another reason as well, such as an authority that it does not trust.

    Example: the certificate names kafka-1.example, the client connected to 10.0.0.5 and sent
    certificate_unknown.

    What to do: put the advertised host into the certificate, or let clients use the name that is in it.
    """

    code = "CON003"
    name = "certificate-name"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("RFC 9525 section 6", "RFC 8446 section 6.2")
    reasons = (Reason.CERTIFICATE_NAME,)
    expects = "a certificate for the address that the client asked for"


class TlsRefused(ProblemRule):
    """A TLS handshake that one end breaks off.

    By an alert, whose name says why its sender would not go on, or by closing. The end is known to speak
    Kafka. The finding names the end that sent the alert. The alert does not show whose fault it is. If the
    certificate of the other end is visible and not valid at that time, the finding has its dates.

    Example: the client sends unknown_ca: it does not trust who signed the broker's certificate.

    What to do: unknown_ca, certificate_unknown: look at the client's truststore. bad_certificate,
    certificate_required from the broker: the client's own certificate. protocol_version, handshake_failure:
    versions and cipher suites.
    """

    code = "CON004"
    name = "tls-refused"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    cites = ("RFC 8446 section 6.2",)
    reasons = (Reason.TLS_REFUSED, Reason.CERTIFICATE_EXPIRED)
    expects = "a TLS handshake that finishes"

    def check(self, found: ConnectionProblem) -> Iterator[Violation]:
        """Yield the violation, which names the end that broke the handshake off."""
        problem = found.problem
        yield Violation(self.expects, problem.fact, who=None if problem.by is None else Who(problem.by))


class HttpRequest(ProblemRule):
    """HTTP on a port where Kafka is spoken.

    Health checks, metrics scrapers and browsers do so. The broker reads the request as the size of a frame,
    too large for any, and closes.

    Example: `GET /metrics` on port 9092.

    What to do: let the check open a connection and close it, or ask the port where metrics are.
    """

    code = "CON005"
    name = "http-request"
    claim = Claim.REFUSED
    severity = Severity.INFO
    who = Who.CLIENT
    cites = ("org.apache.kafka.common.network.NetworkReceive#readFrom",)
    reasons = (Reason.HTTP,)
    expects = "a request of Kafka"


class ClosedAtOnce(ProblemRule):
    """A broker that closes before any byte.

    It does so for hosts that have too many connections (max.connections.per.ip), and while it shuts down. The
    bytes do not show which. If it closes after a request, PAI005, VER013, VER014 and VER017 speak.

    Example: SYN, SYN and ACK, ACK, and FIN of the broker 7 ms later.

    What to do: look at the log of the broker, and at max.connections.per.ip and its overrides.
    """

    code = "CON006"
    name = "closed-at-once"
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    cites = ("kafka.network.Acceptor#accept",)
    reasons = (Reason.CLOSED_AT_ONCE,)
    expects = "a connection that stays open"

    def check(self, found: ConnectionProblem) -> Iterator[Violation]:
        """Yield connections without a byte. Other rules report requests without a response."""
        if found.connection.kind is ConnectionKind.NO_DATA:
            yield Violation(self.expects, found.problem.fact)
