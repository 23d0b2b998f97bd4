"""CON002: A client that speaks plaintext to a TLS listener."""

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.session.problem import Reason


class PlaintextToTls(ProblemRule):
    """A client that speaks plaintext to a TLS listener.

    The client sends requests of Kafka, and the first bytes of the answer are a TLS alert: nothing but TLS is
    spoken there. Clients read the alert as the size of a frame, 352518912. Which of the two settings is wrong
    the bytes do not tell.

    Example: ApiVersions v3, answered by `15 03 03 00 02 02 50`, the alert internal_error.

    What to do: set security.protocol of the client to SSL or SASL_SSL, or give it the port of a plaintext
    listener.
    """

    code = "CON002"
    name = "plaintext-to-tls"
    level = Level.INFO
    claim = Claim.REFUSED
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("RFC 8446 section 6",)
    reasons = (Reason.PLAINTEXT_TO_TLS,)
    expects = "a TLS ClientHello: the end answers with TLS"
