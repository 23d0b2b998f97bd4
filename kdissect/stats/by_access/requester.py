"""The principal that sends requests on a connection, as far as the capture shows it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kdissect.history.exchange_view import ExchangeView, losses_of
from kdissect.history.state_table import Table
from kdissect.session.exchange import Exchange, ExchangeKind
from kdissect.session.info import ConnectionInfo
from kdissect.stats.client import host_of, text_of

ANONYMOUS = "ANONYMOUS"  # org.apache.kafka.common.security.auth.KafkaPrincipal#ANONYMOUS
_TOKENS_KEPT = 10_000
_TOKEN_LOGIN = "SCRAM"


class Source(StrEnum):
    """How the principal is known, or why it is not."""

    SASL = "login"
    LOG = "request log"
    NO_LOGIN = "no login"  # the listener asks for none: the principal is ANONYMOUS
    TOKEN = "delegation token"
    CERTIFICATE = "certificate"  # mapped to a principal by rules of the broker
    HIDDEN = "hidden"  # by the mechanism, or by TLS
    BEFORE = "before the capture"


class Requester(NamedTuple):
    """Sender of requests. `principal` is None if it is unknown; `host` is the address that ACLs compare."""

    principal: str | None
    source: Source
    client_id: str | None
    software: str | None
    address: str
    host: str
    scope: str


class TokenLogins:
    """User names that are ids of delegation tokens (KIP-48): the principal is the owner of the token."""

    def __init__(self) -> None:
        self._ids: Table[str, bool] = Table(_TOKENS_KEPT)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._ids

    def see(self, exchange: Exchange) -> None:
        """Note the token of a login."""
        info = exchange.connection
        if not (info.mechanism or "").startswith(_TOKEN_LOGIN):
            return
        token = _token(exchange)
        if b"tokenauth=true" in token:
            from kdissect.session.sasl import principal_of  # start-up: few captures have such logins

            name = principal_of(info.mechanism, token)
            if name:
                self._ids.put(name, True)


def _token(exchange: Exchange) -> bytes:
    if exchange.kind is ExchangeKind.SASL_TOKEN:
        return b"" if exchange.request is None else bytes(exchange.request.data)
    body = ExchangeView(exchange).request
    return bytes(getattr(body, "auth_bytes", b"") or b"")


def requester_of(info: ConnectionInfo, client_id: str | None, tokens: TokenLogins) -> Requester:
    """Return who sends with a client id on a connection."""
    principal, source = _principal(info, tokens)
    return Requester(
        principal, source, client_id, info.software, host_of(info), text_of(info.client.host), info.scope
    )


def _principal(info: ConnectionInfo, tokens: TokenLogins) -> tuple[str | None, Source]:
    if info.principal is not None:
        if info.principal in tokens:
            return None, Source.TOKEN
        return info.principal, Source.LOG if info.logged is not None else Source.SASL
    if info.logged is not None:
        # A line of a broker names the listener and a principal, which is left out if it is ANONYMOUS.
        return (None, Source.HIDDEN) if info.logged.listener is None else (ANONYMOUS, Source.LOG)
    tls = info.tls
    if info.mechanism is not None or (tls is not None and not tls.is_decrypted):
        return None, Source.HIDDEN
    if tls is not None and tls.client_certificates:
        return None, Source.CERTIFICATE
    if tls is not None and tls.is_resumed:  # the certificate was in an earlier handshake
        return None, Source.HIDDEN
    if info.middle_start or losses_of(info):
        return None, Source.BEFORE
    return ANONYMOUS, Source.NO_LOGIN
