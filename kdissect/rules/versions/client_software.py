"""VER009: client software name and version must be plain words."""

import re
from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_NAME = re.compile(
    r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?"
)  # ApiVersionsRequest#SOFTWARE_NAME_VERSION_PATTERN


class ClientSoftware(BodyRule):
    """Client software name and version must be plain words.

    That is letters, digits, dots and dashes, with a letter or digit at each end. Brokers use them as names of
    metrics, and refuse others with INVALID_REQUEST.

    Example: `my client` (a space), or an empty name.

    What to do: name the library and its version plainly.
    """

    code = "VER009"
    name = "client-software-name"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-511 Proposed Changes", "org.apache.kafka.common.requests.ApiVersionsRequest#isValid")
    on = (("ApiVersions", REQUEST),)
    versions = Versions(3, NO_UPPER_BOUND)

    def check(self, body: Body) -> Iterator[Violation]:
        """Both names against the pattern."""
        for name in ("client_software_name", "client_software_version"):
            value = getattr(body.value, name)
            if not isinstance(value, str) or not _NAME.fullmatch(value):
                yield body.violation(name, f"a match of {_NAME.pattern}", repr(value))
