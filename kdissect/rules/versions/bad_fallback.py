"""VER004: an ApiVersions version the broker does not know must be answered in version 0 with error 35."""

from collections.abc import Iterator

from kdissect.decoders.spanned import dissect
from kdissect.model.errors import DecodeError, FaultKind
from kdissect.model.finding import Who
from kdissect.model.wording import plural
from kdissect.rules.body import Body
from kdissect.rules.connection_view import API_VERSIONS, UNSUPPORTED_VERSION
from kdissect.rules.kinds import MisfitRule
from kdissect.rules.rule import RESPONSE, Fault


class BadFallback(MisfitRule):
    """An ApiVersions version the broker does not know must be answered in version 0 with error 35.

    The client cannot read anything else: it does not know yet what the broker speaks. Since KIP-511 the
    body also lists the ApiVersions range.

    Example: error 35 in the layout of version 3.

    What to do: answer unknown ApiVersions versions with a version 0 body.
    """

    code = "VER004"
    name = "bad-api-versions-fallback"
    who = Who.BROKER
    cites = ("KIP-511", "org.apache.kafka.common.requests.ApiVersionsRequest")
    kinds = frozenset(FaultKind)

    def check(self, body: Body, error: DecodeError) -> Iterator[Fault]:
        """An ApiVersions body with error 35 that fits neither version."""
        if body.api.key != API_VERSIONS or body.side != RESPONSE:
            return
        if int.from_bytes(body.data[body.offset : body.offset + 2]) == UNSUPPORTED_VERSION:
            yield _as_version_0(body)


def _as_version_0(body: Body) -> Fault:
    """Where the bytes stop to be the body of version 0 that they should be."""
    data = body.data
    root = dissect(body.message, 0, data, body.offset)
    wrong = root.error or DecodeError("", root.end, f"{plural(len(data) - root.end, 'byte')} left over")
    path = wrong.path.partition(".")[2]
    seen = f"as version 0, {path}: {wrong.why}" if path else f"as version 0, {wrong.why}"
    return Fault("a version 0 body", seen, path, wrong.offset, len(data), RESPONSE)
