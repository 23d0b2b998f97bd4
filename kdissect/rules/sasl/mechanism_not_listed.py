"""SAS015: A mechanism that a broker accepts must be among those it lists."""

import re
from collections.abc import Iterator
from typing import Any

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_NAME = re.compile(r"[A-Z0-9_-]{1,20}")  # of a mechanism: RFC 4422 section 3.1


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
        asked, listed = body.other(), body.value.mechanisms
        if asked is None or body.value.error_code or asked.mechanism in listed:
            return
        if all(map(_is_name, (asked.mechanism, *listed))):  # anything else is damaged, and may be a secret
            yield body.violation("mechanisms", asked.mechanism, ", ".join(listed) or "none")


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
