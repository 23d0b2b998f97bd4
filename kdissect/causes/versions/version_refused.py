"""`version-refused`: a broker does not know the version, or the feature, that a client asks for."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity
from kdissect.schema.protocol_messages import api_name

_UNSUPPORTED_VERSION = 35  # org.apache.kafka.common.protocol.Errors
_API_VERSIONS = 18  # a refused one is repeated in version 0 (KIP-511)
HELP = (
    "Use a client that asks for versions (ApiVersions) and keeps to them, or a broker of a release that"
    " has what "
    "it asks for. `kdissect upgrade --target RELEASE` lists what breaks."
)


class VersionRefused(ErrorCause):
    """Answers with UNSUPPORTED_VERSION."""

    id = "version-refused"
    title = "The broker does not have the version that a client asks for"
    severity = Severity.STOPS
    codes = frozenset({_UNSUPPORTED_VERSION})
    help = HELP
    cites = (
        "org.apache.kafka.common.protocol.Errors#UNSUPPORTED_VERSION",
        "KIP-35 Motivation",
        "KIP-511 Motivation",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client and what it asks for."""
        return key.client, key.api_key == _API_VERSIONS

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return whether another API is refused: a refused ApiVersions request is repeated."""
        return any(key.api_key != _API_VERSIONS for key in errors.keys)

    def sentence(self, errors: Errors) -> str:
        """Return who, and what."""
        apis = dict.fromkeys(api_name(key.api_key) or str(key.api_key) for key in errors.keys)
        return (
            f"{clients_text(errors.clients)} asked {times(errors.seen.times)} for {joined(list(apis))} in"
            " a version that"
            f" {joined(errors.brokers)} does not have."
        )
