"""Laws about versions that brokers offer."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.laws.law import named
from kdissect.history.connections.negotiated_versions import honest
from kdissect.model.cause import FoundCause
from kdissect.schema.protocol_messages import api_by_name


def version_is_offered(cause: FoundCause, seen: Evidence) -> str:
    """Object if the broker offers the version, on the same connection or later than it refused it."""
    places = [packets.connection for packets in cause.evidence]
    for api, version in _asked(cause):
        for known in seen.facts("VersionFact.offered"):
            fact = known.fact
            is_then = fact.evidence.connection in places or fact.evidence.answered_ns >= cause.since_ns
            if known.broker not in named(cause, "broker") or not is_then:
                continue
            found = api_by_name(api)
            low, high = honest(fact.seen).get(-1 if found is None else found.key, (0, -1))
            if low <= version <= high:
                return f"{known.broker} offers {api} v{low} to v{high} in its response to ApiVersions"
    return ""


def _asked(cause: FoundCause) -> Iterator[tuple[str, int]]:
    """Yield the APIs and versions of the requests that a cause shows."""
    for packets in cause.evidence:
        api, _, version = packets.what.rpartition(" v")
        if api and version.isdigit():
            yield api, int(version)
