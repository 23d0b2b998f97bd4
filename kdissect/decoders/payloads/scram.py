"""SCRAM's four messages: RFC 5802 section 7, RFC 7677, and KIP-48's `tokenauth` extension.

Attributes are `letter=value` between commas. A nonce may contain `i=` or `r=`: only commas separate.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kdissect.decoders.payloads.payload import Found
from kdissect.decoders.payloads.text_parts import Parts

_CLIENT_FIRST = {b"n": "username", b"r": "nonce"}
# The first attribute of each other message, in the order of the exchange, and the names of all it has. A
# message that lacks any is of another form: a damaged comma puts the secret after it into the nonce.
_OTHERS: dict[bytes, tuple[str, dict[bytes, str]]] = {
    b"r": ("SaslScramServerFirst", {b"r": "nonce", b"s": "salt", b"i": "iterations"}),
    b"c": ("SaslScramClientFinal", {b"c": "channel_binding", b"r": "nonce", b"p": "proof"}),
    b"v": ("SaslScramServerFinal", {b"v": "verifier"}),
    b"e": ("SaslScramServerFinal", {b"e": "error"}),
}
_RESERVED = frozenset(b"anmrcsipve")  # RFC 5802 section 5.1: no extension may be called so
_TOKEN_AUTH = b"tokenauth"  # KIP-48
_GS2_FLAGS = (b"n,", b"y,", b"p=")  # RFC 5802 section 7, gs2-cbind-flag


class Attribute(NamedTuple):
    """`name=content` in `data[start:end]`, a comma after it included in `end`."""

    name: bytes
    start: int
    content: slice
    end: int


def scram(data: bytes, start: int, end: int) -> Found | None:
    """Return one message of SCRAM; None for anything else."""
    if data[start : start + 2] in _GS2_FLAGS:
        return _client_first(data, start, end)
    known = _OTHERS.get(data[start : start + 1])
    if known is None or data[start + 1 : start + 2] != b"=":
        return None
    name, names = known
    return _attributes(Parts(name, data, start), names, data, start, end)


def _client_first(data: bytes, start: int, end: int) -> Found | None:
    """gs2-header, then `n=user,r=nonce` and extensions."""
    flag = data.find(b",", start, end)
    header = data.find(b",", flag + 1, end) if flag >= 0 else -1
    if header < 0:
        return None
    parts = Parts("SaslScramClientFirst", data, start)
    gs2_header(parts, data, start, flag, header)
    return _attributes(parts, _CLIENT_FIRST, data, header + 1, end)


def gs2_header(parts: Parts, data: bytes, start: int, flag: int, header: int) -> None:
    """`flag,[a=authzid],`: RFC 5801 section 4; `flag` and `header` are the places of its commas."""
    parts.text("channel_binding", flag + 1, slice(start, flag))
    named = data[flag + 1 : flag + 3] == b"a="
    parts.text("authzid", header + 1, slice(flag + 3 if named else flag + 1, header))


def _attributes(parts: Parts, names: dict[bytes, str], data: bytes, start: int, end: int) -> Found | None:
    found = list(_cut(data, start, end))
    used = [attribute.name for attribute in found if attribute.name in names]
    if not found or found[0].name not in names or sorted(used) != sorted(names):
        return None
    for attribute in found:
        known = names.get(attribute.name)
        if known and not _is_sound(known, data[attribute.content]):
            return None  # there is more in it than belongs there
        if known:
            parts.text(known, attribute.end, attribute.content)
            continue
        if attribute.name != _TOKEN_AUTH and not _is_extension(attribute.name):
            return None  # a secret may be in a wrong place
        key = slice(attribute.start, attribute.start + len(attribute.name))
        parts.extension(attribute.end, key, attribute.content)
    return parts.tree()


def _is_extension(name: bytes) -> bool:
    """Return whether an attribute may be called so: a letter (RFC 5802 section 5.1, attr-val)."""
    return len(name) == 1 and name.isalpha() and name[0] not in _RESERVED


def _is_sound(name: str, value: bytes) -> bool:
    """Return whether a value has the form of RFC 5802 section 7. A user's name is any text."""
    if name == "iterations":
        return value.isdigit()
    return name == "username" or (value.isascii() and value.decode("ascii", "replace").isprintable())


def _cut(data: bytes, start: int, end: int) -> Iterator[Attribute]:
    at = start
    while at < end:
        comma = data.find(b",", at, end)
        stop = end if comma < 0 else comma
        equals = data.find(b"=", at, stop)
        if equals < 0:
            yield Attribute(b"", at, slice(at, stop), stop)
            return
        yield Attribute(data[at:equals], at, slice(equals + 1, stop), min(stop + 1, end))
        at = stop + 1
