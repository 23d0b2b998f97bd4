"""Connections that the broker refused in an answer: its login, or a client that looks for another cluster.

For `info`, which counts them, and `connections --problems`.
"""

from __future__ import annotations

from kdissect.decoders.generated.values import sent
from kdissect.history import api_keys as apis
from kdissect.history.connections.sasl_login import SaslFact, SaslHistory
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.problem import Problem, Reason

_SASL = (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE)
REFUSING_APIS = frozenset({*_SASL, apis.API_VERSIONS, None})
"""Exchanges of other APIs need not be added; None may be a bare token."""

_EXPECTS_FROM = 5  # the first version of ApiVersions that names a cluster (ApiVersionsRequest.json)
_REBOOTSTRAP_REQUIRED = 129  # org.apache.kafka.common.protocol.Errors


class Refusals:
    """Observer of a reading's events. It adds the `problem` to the end of a connection that was refused."""

    def __init__(self) -> None:
        self._sasl = SaslHistory()
        self._refused: dict[str, tuple[Reason, str]] = {}
        """Open connections that were refused."""

    def add(self, event: Event) -> Event:
        """Return the analyzer's next event, or its replacement."""
        if isinstance(event, Exchange):
            if event.api_key == apis.API_VERSIONS:
                self._learn_versions(event)
            elif event.api_key in _SASL or event.kind is ExchangeKind.SASL_TOKEN:
                for fact in self._sasl.feed(ExchangeView(event)):
                    self._learn(fact)
        elif isinstance(event, ConnectionClosed):
            info = event.connection
            self._sasl.connections.pop(info.id)
            refused = self._refused.pop(info.id, None)
            if refused is not None:
                return event._replace(problem=Problem(*refused, info.end_ns - info.start_ns))
        return event

    def _learn_versions(self, exchange: Exchange) -> None:
        """Take an ApiVersions answer. The last answer of a connection counts."""
        if (exchange.api_version or 0) < _EXPECTS_FROM or exchange.response is None:
            return
        connection = exchange.connection.id
        if _REBOOTSTRAP_REQUIRED not in exchange.response_summary().errors:
            self._refused.pop(connection, None)
            return
        request = ExchangeView(exchange).request
        cluster, node = sent(request, "cluster_id", None), sent(request, "node_id", -1)
        expected = f" node {node} of cluster {cluster}" if cluster else " another cluster or node"
        seen = f"the client expects{expected} at this address, and the broker refused: REBOOTSTRAP_REQUIRED"
        self._refused[connection] = Reason.WRONG_CLUSTER, seen

    def _learn(self, fact: Fact) -> None:
        connection = fact.evidence.connection
        if fact.kind is SaslFact.MECHANISM_REFUSED:
            offered = ", ".join(fact.expected) or "none"
            seen = f"the client asked for the SASL mechanism {fact.seen}, and the broker has {offered}"
            self._refused[connection] = Reason.MECHANISM_REFUSED, seen
        elif fact.kind is SaslFact.FAILED:
            seen = f"the broker refused the login {fact.detail} with {error_name(fact.seen)}"
            self._refused[connection] = Reason.LOGIN_REFUSED, seen
        elif fact.kind in (SaslFact.AUTHENTICATED, SaslFact.REAUTHENTICATED):
            self._refused.pop(connection, None)
