"""OAUTHBEARER: RFC 7628 section 3.1 with the extensions of KIP-342."""

from kdissect.decoders.payloads.authentication.scram import gs2_header
from kdissect.decoders.payloads.authentication.text_parts import Parts
from kdissect.decoders.payloads.payload import Found
from kdissect.decoders.payloads.text import json_text

_END = b"\x01"  # RFC 7628 section 3.1, kvsep
_TOKEN = b"auth"
_BEARER = b"bearer "  # the scheme's name has no case (RFC 7235 section 2.1)


def oauthbearer(data: bytes, start: int, end: int, from_client: bool) -> Found | None:
    """The client's first message, its answer to an error, or the server's error as JSON (section 3.2.2)."""
    if not from_client:
        is_json = data[start : start + 1] == b"{"
        return json_text("SaslOauthbearerError", data, start, end) if is_json else None
    if data[start:end] == _END:  # section 3.2.3: the client gives up
        parts = Parts("SaslOauthbearer", data, start)
        parts.skip(end)
        return parts.tree()
    return _initial(data, start, end)


def _initial(data: bytes, start: int, end: int) -> Found | None:
    flag = data.find(b",", start, end)
    header = data.find(b",", flag + 1, end) if flag >= 0 else -1
    if header < 0 or data[header + 1 : header + 2] != _END:
        return None
    parts = Parts("SaslOauthbearer", data, start)
    gs2_header(parts, data, start, flag, header)
    parts.skip(header + 2)
    at = header + 2
    has_token = False
    while at < end and data[at : at + 1] != _END:
        stop = data.find(_END, at, end)
        equals = data.find(b"=", at, end)
        if stop < 0 or not at <= equals < stop:
            return None
        bearer = data[equals + 1 : equals + 1 + len(_BEARER)].lower() == _BEARER
        if data[at:equals].lower() == _TOKEN and not has_token:
            parts.text("token", stop + 1, slice(equals + 1 + (len(_BEARER) if bearer else 0), stop))
            has_token = True
        elif bearer:
            return None  # a token where none belongs
        else:
            parts.extension(stop + 1, slice(at, equals), slice(equals + 1, stop))
        at = stop + 1
    parts.skip(end)
    return parts.tree() if has_token else None
