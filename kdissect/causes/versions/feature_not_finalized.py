"""`feature-not-finalized`: a broker offers an API and refuses it, because its feature is not finalized."""

from __future__ import annotations

from collections.abc import Hashable

from kdissect.causes.cause import ErrorCause, clients_text, joined, times
from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.model.cause import Severity
from kdissect.schema.protocol_messages import api_name
from kdissect.session.identities import capture_set_of

_UNSUPPORTED_VERSION = 35  # org.apache.kafka.common.protocol.Errors
# Features that APIs of clients need at level 1 (KIP-848, KIP-932, KIP-1071).
_NEEDED = {
    68: "group.version",
    76: "share.version",
    78: "share.version",
    79: "share.version",
    88: "streams.version",
}


class FeatureNotFinalized(ErrorCause):
    """UNSUPPORTED_VERSION for an API that the broker offers, without the feature of it."""

    id = "feature-not-finalized"
    title = "A broker offers an API before its feature is finalized"
    severity = Severity.STOPS
    codes = frozenset({_UNSUPPORTED_VERSION})
    apis = frozenset(_NEEDED)
    help = (
        "Finish the upgrade of the cluster: kafka-features.sh upgrade --release-version (or --feature for one"
        " feature). Until then use the classic protocol (group.protocol=classic)."
    )
    cites = (
        "KIP-584 Motivation",
        "KIP-848 Motivation",
        "org.apache.kafka.common.protocol.Errors#UNSUPPORTED_VERSION",
    )

    def alike(self, key: ErrorKey) -> Hashable:
        """Return a client and the feature that it needs."""
        return key.client, _NEEDED[key.api_key]

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return True if the broker offered the API before, and named its features without this one."""
        features = seen.gathering.features
        offers = [
            (
                key.api_key,
                features.at(capture_set_of(key.scope), key.broker, errors.seen.first_ns),
            )
            for key in errors.keys
        ]
        return all(
            offer is not None and api in offer.api_keys and offer.features.get(_NEEDED[api], 0) < 1
            for api, offer in offers
        )

    def sentence(self, errors: Errors) -> str:
        """Return the client and its request, and the broker's features."""
        named = dict.fromkeys(api_name(key.api_key) or str(key.api_key) for key in errors.keys)
        feature = _NEEDED[errors.keys[0].api_key]
        return (
            f"{joined(errors.brokers)} refused {joined(list(named))} of {clients_text(errors.clients)}"
            f" {times(errors.seen.times)} as UNSUPPORTED_VERSION. Its response to ApiVersions offers the API,"
            f" and its finalized features lack {feature}."
        )
