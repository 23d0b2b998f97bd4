"""Why connections came to nothing, from the events of a reading, for `connections --problems`."""

from __future__ import annotations

from kdissect.history.connection_problems import TELLING, ConnectionProblem, ConnectionProblems
from kdissect.history.fact import Fact
from kdissect.history.sasl import SaslFact, SaslHistory
from kdissect.history.turn import Turn
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.problem import Problem, Reason

_SASL = frozenset({17, 36})  # SaslHandshake, SaslAuthenticate


class Diagnosis:
    """Takes events with `add`, and `finish`; each gives the connections that came to nothing.

    A connection is told once, when it is over, or at the end of the input where its end is not known to speak
    Kafka before.
    """

    def __init__(self) -> None:
        self._problems = ConnectionProblems()
        self._sasl = SaslHistory()
        self._refused: dict[str, tuple[Reason, str]] = {}
        """Open connections whose login was refused."""

    def add(self, event: Event, is_told: bool = True) -> list[ConnectionProblem]:
        """Take the analyzer's next event; `is_told`: of a connection that ends, whether it is to be told."""
        info = event.connection
        if info.same_as is not None:
            return []
        if isinstance(event, Exchange):
            self._exchange(event)
        elif isinstance(event, ConnectionClosed):
            self._sasl.connections.pop(info.id)
            refused = self._refused.pop(info.id, None)
            if not is_told:
                self._problems.forget(info)
                event = event._replace(problem=None)
            elif refused is not None:
                event = event._replace(problem=Problem(*refused, info.end_ns - info.start_ns))
            return self._problems.close(event)
        return []

    def finish(self) -> list[ConnectionProblem]:
        """The input is over."""
        return self._problems.finish()

    def _exchange(self, exchange: Exchange) -> None:
        # Hot, once an exchange: of nearly all nothing is to be learned.
        if exchange.api_key in TELLING:
            self._problems.feed(Turn(exchange))
        elif exchange.api_key in _SASL or exchange.kind is ExchangeKind.SASL_TOKEN:
            for fact in self._sasl.feed(Turn(exchange)):
                self._learn(fact)

    def _learn(self, fact: Fact) -> None:
        connection = fact.evidence.connection
        if fact.kind is SaslFact.MECHANISM_REFUSED:
            offered = ", ".join(fact.expected) or "none"
            told = f"the client asked for the SASL mechanism {fact.seen}, and the broker has {offered}"
            self._refused[connection] = Reason.MECHANISM_REFUSED, told
        elif fact.kind is SaslFact.FAILED:
            told = f"the broker refused the login {fact.detail} with {error_name(fact.seen)}"
            self._refused[connection] = Reason.LOGIN_REFUSED, told
        elif fact.kind in (SaslFact.AUTHENTICATED, SaslFact.REAUTHENTICATED):
            self._refused.pop(connection, None)
