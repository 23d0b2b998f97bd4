"""VER005: UNSUPPORTED_VERSION to ApiVersions must come in version 0, and name the ApiVersions range."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Fault
from kdissect.rules.views.body_view import Body
from kdissect.rules.views.connection_view import API_VERSIONS, UNSUPPORTED_VERSION


class FallbackInRequestVersion(BodyRule):
    """UNSUPPORTED_VERSION to ApiVersions must come in version 0, and name the ApiVersions range.

    A client that asked in a version the broker does not know can only rely on version 0.

    Example: error 35 in a body of version 3, or in version 0 with other APIs but not key 18.

    What to do: answer with version 0 and at least the entry of ApiVersions. Brokers before 2.4 list nothing.
    """

    code = "VER005"
    name = "fallback-in-request-version"
    who = Who.BROKER
    cites = ("KIP-511", "org.apache.kafka.common.requests.ApiVersionsRequest")
    on = (("ApiVersions", RESPONSE),)

    def check(self, body: Body) -> Iterator[Fault]:
        """Version and list of an answer with error 35."""
        if body.value.error_code != UNSUPPORTED_VERSION:
            return
        asked = body.exchange.api_version
        if asked != 0 and body.version != 0:
            yield body.fault("error_code", "a body of version 0", f"a body of version {body.version}")
        elif body.value.api_keys and all(key.api_key != API_VERSIONS for key in body.value.api_keys):
            yield body.fault("api_keys", "the range of ApiVersions", "a list without key 18")
