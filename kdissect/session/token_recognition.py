"""Recognition of SASL tokens, and of frames that may contain one in a wrong place."""

import struct

from kdissect.session.detection.recognition import is_certain_request, is_plausible_request
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.session.request_kind import kind_of
from kdissect.session.sasl import SASL_AUTHENTICATE

# Of the client id in a request's content (spec/004 "Complete Request Format").
_LENGTH_AT = 8
_NULL = -1


def ends_tokens(data: bytes, info: ConnectionInfo, sent: int) -> bool:
    """Return whether a frame after SaslHandshake version 0 and `sent` bare tokens is a request again.

    A token can read like a request. So the frame must have the client's id, or be a request to the last byte.
    If the client has sent fewer tokens than its mechanism requires, it must be both, and one for a token
    (SaslAuthenticate).
    """
    if not is_plausible_request(data):
        return False
    client_id = (info.client_id or "").encode("utf-8", "replace")
    mark = (_NULL if info.client_id is None else len(client_id)).to_bytes(2, signed=True) + client_id
    is_same = data.startswith(mark, _LENGTH_AT)
    fits = is_known_request(len(data).to_bytes(4) + data, 0)
    if sent < _least_tokens(info.mechanism):
        return is_same and fits and int.from_bytes(data[:2]) == SASL_AUTHENTICATE
    return is_same or fits


def _least_tokens(mechanism: str | None) -> int:
    """Return the least number of tokens that a client sends."""
    return 2 if (mechanism or "").upper().startswith("SCRAM-") else 1  # first and final: RFC 5802 section 5


def is_known_request(data: bytes, offset: int) -> bool:
    """Return whether the plausible request at `offset` (its size) is one of the schema's, to the last
    byte.
    """
    key, version = struct.unpack_from(">hh", data, offset + 4)
    return not kind_of(key, version).unknown and is_certain_request(data, offset)


def may_be_misplaced(exchange: Exchange) -> bool:
    """Return whether the client id of a request may be a secret that damage moved there.

    The request of a Fetch has no records, so it has no secret of the metadata log.
    """
    if not exchange.is_near_logins:
        return False
    decoded = exchange.bodies()[0]
    exchange.forget_bodies()
    return decoded is None or not decoded.fits
