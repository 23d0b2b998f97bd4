"""CON003: A certificate for another address than the client asked for, refused by the client."""

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.kinds import ProblemRule
from kdissect.session.problem import Reason


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
    level = Level.INFO
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("RFC 9525 section 6", "RFC 8446 section 6.2")
    reasons = (Reason.CERTIFICATE_NAME,)
    expects = "a certificate for the address that the client asked for"
