"""SAS015: A mechanism that a broker accepts must be among those it lists."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class MechanismNotListed(BodyRule):
    """A mechanism that a broker accepts must be among those it lists.

    SaslHandshake is answered with the mechanisms that are enabled. Where the one that was asked for is not
    among them the error is UNSUPPORTED_SASL_MECHANISM.

    Example: SCRAM-SHA-256 asked for, error 0, and PLAIN alone in the list.

    What to do: list what is enabled, or refuse what is not.
    """

    code = "SAS015"
    name = "mechanism-not-listed"
    who = Who.BROKER
    cites = (
        "spec/000 SaslHandshake API",
        "org.apache.kafka.common.security.authenticator.SaslServerAuthenticator#handleHandshakeRequest",
    )
    on = (("SaslHandshake", RESPONSE),)
    needs = "the request as well"

    def check(self, body: Body) -> Iterator[Violation]:
        """The mechanism of the request."""
        asked = body.other()
        if asked is not None and not body.value.error_code and asked.mechanism not in body.value.mechanisms:
            yield body.violation("mechanisms", asked.mechanism, ", ".join(body.value.mechanisms) or "none")
