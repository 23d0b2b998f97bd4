"""Facts from an exchange about the payloads in its frames that the frames themselves do not contain."""

from collections.abc import Mapping
from typing import Any

from kdissect.decoders.messages import decode_request_body
from kdissect.decoders.payloads.envelope import inner_api
from kdissect.decoders.payloads.scope import GUESSED, NEAR_SECRETS
from kdissect.model.errors import DecodeError
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.sasl import SASL_AUTHENTICATE

ENVELOPE = 58  # org.apache.kafka.common.protocol.ApiKeys
_NO_FACTS: Mapping[str, Any] = {}
_NEAR: Mapping[str, Any] = {NEAR_SECRETS: True}
_GUESSED: Mapping[str, Any] = {NEAR_SECRETS: GUESSED}  # a response to a request that was not captured


def payload_facts(exchange: Exchange, side: str) -> Mapping[str, Any]:
    """Return the facts (`decoders.payloads.scope.Scope`) for one side of an exchange. Raises nothing."""
    near = _near(exchange)
    if exchange.kind is ExchangeKind.SASL_TOKEN or exchange.api_key == SASL_AUTHENTICATE:
        return {"mechanism": exchange.connection.mechanism, "from_client": side == "request", **near}
    if exchange.api_key == ENVELOPE and side == "response":
        return {**_inner_api(exchange), **near}
    return near


def _near(exchange: Exchange) -> Mapping[str, Any]:
    if not exchange.is_near_secrets:
        return _NO_FACTS
    is_guess = exchange.state is State.ORPHAN_RESPONSE and not exchange.is_of_metadata
    return _GUESSED if is_guess else _NEAR


def _inner_api(exchange: Exchange) -> Mapping[str, Any]:
    """Return the key and version of the request that an Envelope carried: its response does not repeat
    them.
    """
    frame, version = exchange.request, exchange.api_version
    if frame is None or version is None:
        return _NO_FACTS
    try:
        body = decode_request_body(frame.data, exchange.request_body_offset, ENVELOPE, version)
    except DecodeError:
        return _NO_FACTS
    found = inner_api(body.request_data)
    return _NO_FACTS if found is None else {"inner_api": found}
