"""The facts about a kind of request, an API in a version, before one of its requests is read.

Found by the first four bytes of a frame: once a frame instead of once a question.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from kdissect.decoders.headers import request_header_version, response_header_version
from kdissect.model.anomaly import AnomalyKind
from kdissect.schema import protocol_messages
from kdissect.session.identities import is_telling
from kdissect.session.sasl import SASL_AUTHENTICATE, SASL_HANDSHAKE

PRODUCE = 0
API_VERSIONS = 18
_WATCHED = frozenset({API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE})
# Kinds stored: hostile requests can name 2^32 of them, Kafka has 736.
KINDS_KEPT = 4096
_KEY_AND_VERSION = struct.Struct(">hh")
_NO_TAGS = b"\0"  # an empty tag section: headers have no tags yet


class RequestKind:
    """One API in one version.

    `unknown` is the fact that our schema lacks about it, if any. `is_unusual` is also true if the header has
    no client id. `tags` are the bytes that nearly always end the request's header, `response_tags` the bytes
    that end the response's header. `is_watched` if the bodies have facts about the connection.
    """

    __slots__ = (
        "api_key", "api_version", "is_produce", "is_unusual", "is_watched", "pair", "response_tags", "tags",
        "unknown",
    )  # fmt: skip

    def __init__(self, api_key: int, api_version: int) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.pair = api_key, api_version
        api = protocol_messages.api(api_key)
        self.unknown: AnomalyKind | None = None
        if api is None:
            self.unknown = AnomalyKind.UNKNOWN_API
        elif api_version not in api.versions:
            self.unknown = AnomalyKind.UNKNOWN_VERSION
        self.is_produce = api_key == PRODUCE
        self.is_watched = api_key in _WATCHED
        header = request_header_version(api_key, api_version)
        self.is_unusual = self.unknown is not None or header == 0
        self.tags = _NO_TAGS if header > 1 else b""
        self.response_tags = _NO_TAGS if response_header_version(api_key, api_version) else b""


_by_bytes: dict[bytes, RequestKind] = {}
known_kind = _by_bytes.get
"""The kind of a frame's first four bytes, if `request_kind` met it before."""


def request_kind(data: bytes) -> RequestKind | None:
    """Return the kind of request that `data` is, None if it is too short."""
    raw = data[:4]
    if len(raw) < _KEY_AND_VERSION.size:
        return None
    kind = _by_bytes.get(raw)
    if kind is None:
        if len(_by_bytes) >= KINDS_KEPT:
            _by_bytes.clear()
        kind = _by_bytes[raw] = kind_of(*_KEY_AND_VERSION.unpack(raw))
    return kind


@lru_cache(maxsize=KINDS_KEPT)
def kind_of(api_key: int, api_version: int) -> RequestKind:
    """Return the kind by its numbers."""
    return RequestKind(api_key, api_version)


def kind_row(api_key: int, api_version: int) -> tuple[bytes, bytes, bool, bool, bool, bool]:
    """Return a kind as the native engine has it.

    `tags`, `response_tags`, whether the headers of its frames are enough, `is_produce`, whether it is
    ApiVersions, whether it may be news to `session.identities`.
    """
    kind = kind_of(api_key, api_version)
    is_ordinary = not (kind.is_unusual or kind.is_watched)
    is_api_versions = api_key == API_VERSIONS and not kind.unknown
    may_be_news = is_telling(api_key, api_version)
    return kind.tags, kind.response_tags, is_ordinary, kind.is_produce, is_api_versions, may_be_news
