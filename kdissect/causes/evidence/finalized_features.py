"""Features that brokers name in their responses to ApiVersions, and the APIs that they offer."""

from __future__ import annotations

from typing import Any, NamedTuple

from kdissect.history import api_keys as apis
from kdissect.history.state_table import Table
from kdissect.model.same import of_same
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

_BROKERS_KEPT = 1_000
_CHANGES_KEPT = 100  # of a broker


class Offer(NamedTuple):
    """A broker's statement from a time on: finalized features with their levels, and keys of APIs."""

    time_ns: int
    features: dict[str, int]
    api_keys: frozenset[int]


@of_same
def _offered(response: Any) -> tuple[dict[str, int], frozenset[int]]:
    features = {row.name: row.max_version_level for row in response.finalized_features or ()}
    return features, frozenset(row.api_key for row in response.api_keys or ())


class FinalizedFeatures:
    """Takes exchanges whose response names versions (KIP-584)."""

    def __init__(self) -> None:
        self.offers: Table[tuple[str, str], list[Offer]] = Table(_BROKERS_KEPT)
        """By capture set and broker, each change, in its order."""

    def add(self, exchange: Exchange) -> None:
        """Take an exchange."""
        body = exchange.bodies()[1]
        if exchange.api_key != apis.API_VERSIONS or exchange.response is None or body is None:
            return
        if not body.fits or body.value.error_code or not hasattr(body.value, "finalized_features"):
            return
        features, keys = _offered(body.value)
        info = exchange.connection
        offers = self.offers.get_or((info.capture_set, info.broker_text), list)
        if len(offers) < _CHANGES_KEPT and (not offers or offers[-1][1:] != (features, keys)):
            offers.append(Offer(exchange.response.time_ns, features, keys))

    def knows(self, info: ConnectionInfo, response: Any) -> bool:
        """Return whether the values of a response are the last statement of the connection's broker."""
        if not hasattr(response, "finalized_features"):
            return True
        offers = self.offers.get((info.capture_set, info.broker_text))
        return offers is not None and len(offers) > 0 and offers[-1][1:] == _offered(response)

    def at(self, capture_set: str, broker: str, time_ns: int) -> Offer | None:
        """Return the last offer of a broker before a time."""
        before = [one for one in self.offers.peek((capture_set, broker)) or () if one.time_ns <= time_ns]
        return before[-1] if before else None
