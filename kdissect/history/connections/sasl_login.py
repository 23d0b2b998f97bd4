"""SASL on a connection: phases, mechanism, principal, session lifetime, re-authentication.

Key: the connection. Order: that of its requests. (KIP-43, KIP-152, KIP-368.) A connection whose handshake was
not captured has an unknown phase, and a connection without a handshake may not use SASL at all: the machine
expects nothing of either.
"""

from enum import StrEnum
from typing import Any, ClassVar

from kdissect.history import api_keys as apis
from kdissect.history import error_codes as codes
from kdissect.history.connections.token_faults import ScramExchange, plain_fault
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact, is_answered_before
from kdissect.history.state_table import Table
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.sasl import ROUNDS, has_succeeded, principal_of

# the largest brokers have this number of open connections, with 500 bytes of state each
CONNECTIONS_KEPT = 20_000
TOKEN_KEPT = 8192  # of the first token, to name the principal: a bearer token is the largest, 1-4 KB
_MS = 1_000_000


class SaslPhase(StrEnum):
    """Where a connection stands."""

    UNKNOWN = "unknown"  # no handshake was seen
    HANDSHAKEN = "handshaken"  # both sides agreed on a mechanism, and tokens follow
    AUTHENTICATED = "authenticated"
    FAILED = "failed"


class SaslFact(StrEnum):
    """Facts about authentication."""

    HANDSHAKE = "handshake"  # seen: the mechanism agreed on
    # the listener does no SASL, or not now (ILLEGAL_SASL_STATE), and the connection goes on
    NO_SASL = "no_sasl"
    MECHANISM_REFUSED = "mechanism_refused"  # expected: those the broker has, seen: the one asked for
    AUTHENTICATED = "authenticated"  # seen: the principal, None where the mechanism hides it
    REAUTHENTICATED = "reauthenticated"  # authenticated again (KIP-368)
    FAILED = "failed"  # seen: the error code
    MECHANISM_CHANGED = "mechanism_changed"  # re-authentication with another mechanism
    PRINCIPAL_CHANGED = "principal_changed"  # re-authentication as somebody else
    REQUEST_BEFORE_END = "request_before_end"  # another request while tokens are expected (seen: its API key)
    API_VERSIONS_LATE = "api_versions_late"  # ApiVersions behind SaslHandshake, before authentication ends
    TOKEN_DIFFERS = "token_differs"  # a PLAIN or SCRAM token of another form (detail: what is wrong)
    HANDSHAKE_AGAIN = "handshake_again"  # a second handshake before the first led to anything
    WITHOUT_HANDSHAKE = "without_handshake"  # SaslAuthenticate without a handshake
    AFTER_RAW_HANDSHAKE = "after_raw_handshake"  # SaslAuthenticate after SaslHandshake v0 (KIP-152)
    SESSION_EXPIRED = "session_expired"  # a request after the session's lifetime (milliseconds)
    USED_AFTER_FAILURE = "used_after_failure"  # anything after a failure


class SaslSession:
    """State of one connection.

    `lifetime_ms` is that of the last authentication, 0 for endless, None where the version has none. `is_raw`
    after SaslHandshake v0. `tokens` counts the tokens of the current authentication.
    """

    __slots__ = (
        "authenticated_by", "authenticated_ns", "authentications", "expired", "failed_by", "first_token",
        "handshake", "is_raw", "lifetime_ms", "mechanism", "offered", "phase", "principal", "scram", "tokens",
    )  # fmt: skip

    def __init__(self) -> None:
        self.phase = SaslPhase.UNKNOWN
        self.mechanism: str | None = None
        self.offered: tuple[str, ...] = ()
        self.handshake: Evidence | None = None
        self.is_raw = False
        self.tokens = 0
        self.first_token = b""
        self.scram: ScramExchange | None = None
        self.principal: str | None = None
        self.authentications = 0
        self.authenticated_ns = 0
        self.authenticated_by: Evidence | None = None
        self.lifetime_ms: int | None = None
        self.expired = False
        self.failed_by: Evidence | None = None


def begins_with_tokens(exchange: Exchange) -> bool:
    """Return whether an exchange is the first token of a connection without a SaslHandshake (Kafka 0.9)."""
    return exchange.kind is ExchangeKind.SASL_TOKEN and not exchange.ordinal


_SASL_APIS = (apis.SASL_HANDSHAKE, apis.SASL_AUTHENTICATE)


class SaslHistory:
    """SASL sessions by connection. Connections without SASL have no session."""

    api_keys: ClassVar[frozenset[int] | None] = None

    def __init__(self) -> None:
        self.connections: Table[str, SaslSession] = Table(CONNECTIONS_KEPT)

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next exchange of a connection."""
        if view.exchange.state is State.ORPHAN_RESPONSE:
            return []
        if begins_with_tokens(view.exchange):
            begun = self.connections.put(view.info.id, SaslSession())
            begun.phase, begun.mechanism, begun.is_raw = SaslPhase.HANDSHAKEN, view.info.mechanism, True
            return _raw_token(view, begun)
        if view.key not in _SASL_APIS and not len(self.connections):
            return []  # nearly always
        known = self.connections.get(view.info.id)
        if view.key == apis.SASL_HANDSHAKE:
            known = known or self.connections.put(view.info.id, SaslSession())
            return [*_after_failure(view, known), *_handshake(view, known)]
        if view.key == apis.SASL_AUTHENTICATE:
            unknown = known is None
            known = known or self.connections.put(view.info.id, SaslSession())
            return [*_after_failure(view, known), *_authenticate(view, known, unknown)]
        if known is None:
            return []
        if view.exchange.kind is ExchangeKind.SASL_TOKEN:
            return _raw_token(view, known)
        return [*_after_failure(view, known), *_other_request(view, known)]


def _handshake(view: ExchangeView, known: SaslSession) -> list[Fact]:
    request, answer = view.request, view.response
    if request is None:
        return []
    facts, key = [], (view.info.id,)
    mechanism = str(request.mechanism)
    if known.phase is SaslPhase.HANDSHAKEN:
        facts.append(
            Fact(SaslFact.HANDSHAKE_AGAIN, key, view.evidence, earlier=known.handshake, sure=view.is_whole)
        )
    if answer is None:
        return _unread(view, known, facts)
    known.offered = tuple(map(str, answer.mechanisms or ()))
    if answer.error_code == codes.ILLEGAL_SASL_STATE:
        return [*facts, _no_sasl(view, known)]
    if answer.error_code:
        known.phase, known.failed_by = SaslPhase.FAILED, view.evidence
        kind = SaslFact.MECHANISM_REFUSED
        return [*facts, Fact(kind, key, view.evidence, "response", "error_code", known.offered, mechanism)]
    if known.authentications and known.mechanism not in (None, mechanism):
        facts.append(
            Fact(
                SaslFact.MECHANISM_CHANGED, key, view.evidence, "request", "mechanism", known.mechanism,
                mechanism, known.handshake,
            )
        )  # fmt: skip
    known.phase, known.mechanism, known.handshake = SaslPhase.HANDSHAKEN, mechanism, view.evidence
    known.is_raw = (
        view.version == 0
    )  # KIP-43: bare tokens follow. From version 1 on SaslAuthenticate carries them (KIP-152)
    known.tokens, known.first_token = 0, b""
    known.scram = ScramExchange() if mechanism.startswith("SCRAM-") else None
    return [*facts, Fact(SaslFact.HANDSHAKE, key, view.evidence, "request", "mechanism", None, mechanism)]


def _unread(view: ExchangeView, known: SaslSession, facts: list[Fact]) -> list[Fact]:
    """Note a login of which a side is missing.

    If it was there and cannot be read, the phase is unknown from then on.
    """
    if view.is_misread:
        known.phase = SaslPhase.UNKNOWN
    return facts


def _authenticate(view: ExchangeView, known: SaslSession, unknown: bool) -> list[Fact]:
    key = (view.info.id,)
    facts = []
    if unknown and view.is_whole:
        facts.append(Fact(SaslFact.WITHOUT_HANDSHAKE, key, view.evidence))
    if known.phase is SaslPhase.HANDSHAKEN and known.is_raw:
        facts.append(Fact(SaslFact.AFTER_RAW_HANDSHAKE, key, view.evidence, earlier=known.handshake))
    request, answer = view.request, view.response
    if request is not None:
        facts += _token(view, known, bytes(request.auth_bytes))
    if answer is None or request is None:
        return _unread(view, known, facts)
    if answer.error_code == codes.ILLEGAL_SASL_STATE:
        return [*facts, _no_sasl(view, known)]
    if answer.error_code:
        known.phase, known.failed_by = SaslPhase.FAILED, view.evidence
        return [*facts, _refused(view, known, answer.error_code)]
    known.lifetime_ms = getattr(answer, "session_lifetime_ms", None)
    server_token = bytes(answer.auth_bytes)
    return [*facts, *_server_token(view, known, server_token), *_maybe_done(view, known, server_token)]


def _refused(view: ExchangeView, known: SaslSession, code: int) -> Fact:
    principal = principal_of(known.mechanism, known.first_token)  # None where the mechanism hides it
    tried = " as ".join(part for part in (known.mechanism, principal) if part)
    known.first_token = b""  # it may hold a password
    key = (view.info.id,)
    return Fact(SaslFact.FAILED, key, view.evidence, "response", "error_code", 0, code, detail=tried)


def _no_sasl(view: ExchangeView, known: SaslSession) -> Fact:
    if known.phase is SaslPhase.HANDSHAKEN:
        known.phase = SaslPhase.UNKNOWN
    seen = view.response.error_code
    return Fact(SaslFact.NO_SASL, (view.info.id,), view.evidence, "response", "error_code", 0, seen)


def _raw_token(view: ExchangeView, known: SaslSession) -> list[Fact]:
    exchange = view.exchange
    facts: list[Fact] = []
    if exchange.request is not None:
        facts = [] if exchange.request.is_cut else _token(view, known, exchange.request.data)
    if exchange.response is None or exchange.response.is_cut:
        return facts
    token = exchange.response.data
    return [*facts, *_server_token(view, known, token), *_maybe_done(view, known, token)]


def _token(view: ExchangeView, known: SaslSession, token: bytes) -> list[Fact]:
    known.tokens += 1
    if known.tokens == 1:
        known.first_token = token[:TOKEN_KEPT]
    why = None
    if known.phase is SaslPhase.HANDSHAKEN and known.mechanism == "PLAIN" and known.tokens == 1:
        why = plain_fault(token)
    elif known.scram is not None:
        why = known.scram.client(token)
    return _token_differs(view, known, why, "request")


def _server_token(view: ExchangeView, known: SaslSession, token: bytes) -> list[Fact]:
    why = None if known.scram is None else known.scram.server(token)
    return _token_differs(view, known, why, "response")


def _token_differs(view: ExchangeView, known: SaslSession, why: str | None, side: str) -> list[Fact]:
    if why is None:
        return []
    return [
        Fact(
            SaslFact.TOKEN_DIFFERS, (view.info.id,), view.evidence, side, "auth_bytes", known.mechanism,
            earlier=known.handshake, sure=view.is_whole, detail=why,
        )
    ]  # fmt: skip


def _maybe_done(view: ExchangeView, known: SaslSession, server_token: bytes) -> list[Fact]:
    """Authenticate once the mechanism's number of tokens was seen.

    Other mechanisms show success by what follows.
    """
    if known.phase is SaslPhase.HANDSHAKEN and has_succeeded(known.mechanism, known.tokens, server_token):
        return _done(view, known)
    return []


def _done(view: ExchangeView, known: SaslSession) -> list[Fact]:
    principal = principal_of(known.mechanism, known.first_token)
    known.phase = SaslPhase.AUTHENTICATED
    known.authentications += 1
    before, known.principal = known.principal, principal
    earlier, known.authenticated_by = known.authenticated_by, view.evidence
    known.authenticated_ns = view.evidence.answered_ns or view.sent_ns
    known.expired = False
    known.first_token = b""  # it may hold a password
    again = known.authentications > 1
    kind = SaslFact.REAUTHENTICATED if again else SaslFact.AUTHENTICATED
    key = (view.info.id,)
    facts = [Fact(kind, key, view.evidence, "request", "auth_bytes", before, principal, earlier)]
    if again and before != principal:
        facts.append(
            Fact(
                SaslFact.PRINCIPAL_CHANGED,
                key,
                view.evidence,
                "request",
                "auth_bytes",
                before,
                principal,
                earlier,
            )
        )  # fmt: skip
    return facts


def _other_request(view: ExchangeView, known: SaslSession) -> list[Fact]:
    key = (view.info.id,)
    if view.exchange.api_key is None:  # a header that does not fit
        return []
    if known.phase is SaslPhase.HANDSHAKEN:
        if (known.mechanism or "") in ROUNDS or view.response is None:
            late = view.key == apis.API_VERSIONS
            kind = SaslFact.API_VERSIONS_LATE if late else SaslFact.REQUEST_BEFORE_END
            path, earlier, sure = "request_api_key", known.handshake, view.is_whole
            return [Fact(kind, key, view.evidence, "request", path, None, view.key, earlier, sure)]
        # the rounds of GSSAPI and others are not known, so an answered request shows success
        return _done(view, known)
    if known.phase is SaslPhase.AUTHENTICATED and known.lifetime_ms and not known.expired:
        return _expiry(view, known, known.lifetime_ms)
    return []


def _expiry(view: ExchangeView, known: SaslSession, lifetime_ms: int) -> list[Fact]:
    age_ms = (view.sent_ns - known.authenticated_ns) // _MS
    if age_ms <= lifetime_ms:
        return []
    known.expired = True  # said once
    return [
        Fact(
            SaslFact.SESSION_EXPIRED, (view.info.id,), view.evidence, "request", "", lifetime_ms, age_ms,
            known.authenticated_by, not view.losses,
        )
    ]  # fmt: skip


def _after_failure(view: ExchangeView, known: SaslSession) -> list[Fact]:
    if known.phase is not SaslPhase.FAILED or known.failed_by is None:
        return []
    if not is_answered_before(known.failed_by, view.evidence):
        return []  # sent before the client could know
    seen: Any = view.key
    return [
        Fact(
            SaslFact.USED_AFTER_FAILURE, (view.info.id,), view.evidence, "request", "request_api_key", None,
            seen, known.failed_by,
        )
    ]  # fmt: skip
