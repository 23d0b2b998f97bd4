"""Connections whose login the broker refused: for `info`, which counts them, and `connections --problems`."""

from __future__ import annotations

from kdissect.history import api_keys as apis
from kdissect.history.connections.sasl_login import SaslFact, SaslHistory
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.problem import Problem, Reason

_SASL = (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE)
LOGIN_APIS = frozenset({*_SASL, None})
"""Exchanges of other APIs need not be added; None may be a bare token."""


class RefusedLogins:
    """Sees the events of a reading; the end of a connection whose login was refused says so as `problem`."""

    def __init__(self) -> None:
        self._sasl = SaslHistory()
        self._refused: dict[str, tuple[Reason, str]] = {}
        """Open connections whose login was refused."""

    def add(self, event: Event) -> Event:
        """The analyzer's next event, or what takes its place."""
        if isinstance(event, Exchange):
            if event.api_key in _SASL or event.kind is ExchangeKind.SASL_TOKEN:
                for fact in self._sasl.feed(ExchangeView(event)):
                    self._learn(fact)
        elif isinstance(event, ConnectionClosed):
            info = event.connection
            self._sasl.connections.pop(info.id)
            refused = self._refused.pop(info.id, None)
            if refused is not None:
                return event._replace(problem=Problem(*refused, info.end_ns - info.start_ns))
        return event

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
