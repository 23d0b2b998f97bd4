"""Both bodies of exchanges as JSON text, compiled where that takes them."""

from functools import lru_cache

import orjson

from kdissect.cli.formats.jsonl import json_bytes
from kdissect.decoders.body_schemas import CACHE_SIZE
from kdissect.decoders.body_text import BodyText, body_text
from kdissect.engine.nested_bodies import Body, NameOf, NestedBodies
from kdissect.session.exchange import Exchange, ExchangeKind

Texts = tuple[bytes | None, bytes | None]
_KAFKA = ExchangeKind.KAFKA


class BodyTexts(NestedBodies):
    """The bodies of `NestedBodies` as orjson writes them.

    `texts`, `made` and `compiled` give the text of request and response, None for a frame that is not there;
    None where one of them must be looked at by `bodies`. They raise nothing.
    """

    def __init__(self, name_of: NameOf | None, show_secrets: bool) -> None:
        super().__init__(name_of, show_secrets)
        self._records = None if name_of is None else self

    def texts(self, exchange: Exchange) -> Texts | None:
        """Compiled, or `made`."""
        return self.compiled(exchange) or self.made(exchange)

    def made(self, exchange: Exchange) -> Texts | None:
        """By dicts and orjson."""
        bodies = self.of(exchange)
        if bodies is None:
            return None
        asked, answered = bodies
        if asked is None or answered is None:
            return _text(asked), _text(answered)
        return json_bytes(asked), json_bytes(answered)

    def compiled(self, exchange: Exchange) -> Texts | None:
        """Compiled; None as well where that does not take one of them."""
        key, version = exchange.api_key, exchange.api_version
        if key is None or version is None or exchange.kind is not _KAFKA or exchange.is_near_secrets:
            return None
        programs = _programs(key, version)
        if programs is None:
            return None
        request, response = exchange.request, exchange.response
        self._exchange = exchange
        asked = answered = None
        if request is not None:
            data = request.data
            if len(data) != request.size:
                return None
            asked = programs[0].text(data, exchange.request_body_offset, self._records)
            if asked is None:
                return None
        if response is not None:
            data = response.data
            if len(data) != response.size:
                return None
            answered = programs[1].text(data, exchange.response_body_offset, self._records)
            if answered is None:
                return None
        return asked, answered

    def unusual(self, data: bytes, start: int, end: int, topic: str | None) -> bytes:
        """A records field with batches that are not plain. Raises ValueError where one is wrong."""
        told = self.unusual_records(data, start, end, topic)
        try:
            return orjson.dumps(told)
        except TypeError as error:  # an integer over 64 bits: `made` writes the whole body in another way
            raise ValueError from error


def _text(body: Body | None) -> bytes | None:
    return None if body is None else json_bytes(body)


@lru_cache(maxsize=CACHE_SIZE)
def _programs(key: int, version: int) -> tuple[BodyText, BodyText] | None:
    """The programs of both bodies, where there are both."""
    request = body_text(key, version, is_response=False)
    response = body_text(key, version, is_response=True)
    return None if request is None or response is None else (request, response)
