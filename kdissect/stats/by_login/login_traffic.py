"""Logins of all connections: the facts of `history.connections.sasl_login`, with the client and the time."""

from __future__ import annotations

from collections import deque
from typing import Any

from kdissect.history import api_keys as apis
from kdissect.history.connections.sasl_login import SaslFact, SaslHistory, begins_with_tokens
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Fact
from kdissect.history.state_table import Table
from kdissect.model.native import native
from kdissect.schema.error_codes import error_name
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.sasl import ROUNDS, principal_of
from kdissect.stats.by_login.login import Login, Logins, LoginsKey, Outcome
from kdissect.stats.client import client_named, text_of

OPEN_KEPT = 20_000  # connections in the middle of a login, and connections that may log in again, 1 KB each
LOGINS_KEPT = 10_000  # the most recent ones, which are listed one by one, while all are counted
WHO_KEPT = 5_000  # clients times brokers, mechanisms and names; 2 KB each
_MESSAGE_KEPT = 300  # characters of what a broker says of a refusal
_SASL = (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE)
_ACCEPTED = (SaslFact.AUTHENTICATED, SaslFact.REAUTHENTICATED)


class LoginTraffic:
    """Collector of logins: pass every event to `add`, then `finish`. `logins` has finished ones, in the order
    in which they finished.
    """

    def __init__(self) -> None:
        self.logins: deque[Login] = deque(maxlen=LOGINS_KEPT)
        """The last ones."""
        self.who: Table[LoginsKey, Logins] = Table(WHO_KEPT)
        self._sasl = SaslHistory()
        self._open: Table[str, Login] = Table(OPEN_KEPT)
        self._authenticated: Table[str, bool] = Table(OPEN_KEPT)
        self._unbounded: set[str] = set()
        """Open connections with a login that only the next answered request shows to be over."""

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only logins with a wanted exchange are reported."""
        if isinstance(event, Exchange):
            is_login = event.api_key in _SASL or event.kind is ExchangeKind.SASL_TOKEN
            if is_login or event.connection.id in self._unbounded:
                self._take(ExchangeView(event), is_login, wanted)
        elif isinstance(event, ConnectionClosed):
            self._close(event)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Skip exchanges of a block, which are never SASL. Return the next one that is for `add`."""
        return start if self._unbounded else len(block)

    def finish(self) -> None:
        """End the input: the outcome of unfinished logins is unknown."""
        for login in list(self._open):
            self._keep(login)
        self._open = Table(OPEN_KEPT)

    def _take(self, view: ExchangeView, is_login: bool, wanted: bool) -> None:
        if view.exchange.state is State.ORPHAN_RESPONSE:
            return
        facts = self._sasl.feed(view)
        login = self._open.get(view.info.id)
        if is_login:
            if login is not None and view.key == apis.SASL_HANDSHAKE:
                self._over(login, Outcome.GIVEN_UP if login.is_clear else Outcome.UNKNOWN, None)
                login = None
            login = login or self._begin(view)
            login.is_wanted |= wanted
            self._watch(login, view)
        if login is not None:
            for fact in facts:
                self._learn(login, fact, view)

    def _begin(self, view: ExchangeView) -> Login:
        info = view.info
        client = client_named(info, view.exchange.client_id or info.client_id)
        again = info.id in self._authenticated
        login = self._open.put(info.id, Login(view.evidence, client, info.broker_text, again))
        if begins_with_tokens(view.exchange):
            login.is_clear = True
            self._learn_mechanism(login, info.mechanism)
        else:
            login.is_clear = view.key == apis.SASL_HANDSHAKE  # else the mechanism is unknown
        return login

    def _watch(self, login: Login, view: ExchangeView) -> None:
        """Add the facts of the exchange itself. Facts of the history have the outcome."""
        login.broker_ns += max(view.exchange.latency_ns or 0, 0)
        login.ended_ns = view.evidence.answered_ns or login.ended_ns
        request, answer = view.request, view.response
        login.is_clear &= not (view.losses or view.is_misread)
        if view.key == apis.SASL_HANDSHAKE:
            if request is not None:
                self._learn_mechanism(login, text_of(request.mechanism))
            if answer is not None:
                login.offered = tuple(map(text_of, answer.mechanisms or ()))
            return
        login.tokens += 1
        if login.tokens == 1:
            login.principal = principal_of(login.mechanism, _token(view))
        if view.key == apis.SASL_AUTHENTICATE and answer is not None:
            login.lifetime_ms = getattr(answer, "session_lifetime_ms", None)
            if answer.error_message:
                login.message = text_of(answer.error_message)[:_MESSAGE_KEPT]

    def _learn_mechanism(self, login: Login, mechanism: str | None) -> None:
        login.mechanism = mechanism
        if mechanism is not None and mechanism not in ROUNDS:
            self._unbounded.add(login.connection)

    def _learn(self, login: Login, fact: Fact, view: ExchangeView) -> None:
        kind = fact.kind
        if kind in _ACCEPTED:
            self._authenticated.put(login.connection, True)
            login.principal = fact.seen or login.principal
            self._over(login, Outcome.ACCEPTED, login.ended_ns)
        elif kind is SaslFact.FAILED:
            login.error = error_name(fact.seen)
            self._over(login, Outcome.REFUSED, login.ended_ns)
        elif kind is SaslFact.MECHANISM_REFUSED:
            login.error = error_name(view.response.error_code)
            self._over(login, Outcome.MECHANISM_REFUSED, login.ended_ns)
        elif kind is SaslFact.NO_SASL:
            login.error = error_name(fact.seen)
            self._over(login, Outcome.NO_SASL, login.ended_ns)

    def _close(self, event: ConnectionClosed) -> None:
        info = event.connection
        self._sasl.connections.pop(info.id)
        self._authenticated.pop(info.id)
        self._unbounded.discard(info.id)
        login, close = self._open.peek(info.id), info.close
        if login is None:
            return
        if close is None or close.by is None or not login.is_clear:
            self._over(login, Outcome.UNKNOWN, None)
        else:
            outcome = Outcome.BROKER_CLOSED if close.by == "broker" else Outcome.CLIENT_CLOSED
            answered_ns = close.time_ns if login.ended_ns is None else login.ended_ns
            self._over(login, outcome, max(close.time_ns, answered_ns))  # an answer may cross it

    def _over(self, login: Login, outcome: Outcome, ended_ns: int | None) -> None:
        login.outcome, login.ended_ns = outcome, ended_ns
        self._open.pop(login.connection)
        self._unbounded.discard(login.connection)
        self._keep(login)

    def _keep(self, login: Login) -> None:
        if login.is_wanted:
            self.logins.append(login)
            self.who.get_or(login.key, Logins).add(login)


def _token(view: ExchangeView) -> bytes:
    """Return the token of the client, or no bytes if it is not whole."""
    request: Any = view.exchange.request
    if view.exchange.kind is ExchangeKind.SASL_TOKEN:
        return b"" if request is None or request.is_cut else request.data
    return b"" if view.request is None else bytes(view.request.auth_bytes)
