"""Fields of what bytes fields hold: `request.protocols.metadata_decoded.topics`.

Only the bytes tell which payload they are, so names and kinds behind `_decoded` cannot be checked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.decoders.as_json.jsonable import PAYLOAD_SUFFIX
from kdissect.engine.exchange_bodies import body_of
from kdissect.query.binding import Binding
from kdissect.query.kinds import Kind, Test
from kdissect.query.nodes import Literal
from kdissect.query.sources import Cost, Many, Source
from kdissect.session.exchange import Exchange


class Decoded(Kind):
    """Values of any kind, compared by how they are written."""

    name = "any"
    doc = "what a payload holds: compared by how it is written"
    example = "orders"
    textual = True

    def parse(self, literal: Literal) -> str:
        """The text."""
        return literal.text

    def text(self, raw: Any) -> str:
        """As JSON writes it, texts without quotes."""
        return str(raw).lower() if isinstance(raw, bool) else str(raw)

    def equals(self, value: str) -> Test:
        """Equal as text."""
        return lambda raw: self.text(raw) == value

    def one_of(self, values: Sequence[str]) -> Test:
        """One of them as text."""
        known = frozenset(values)
        return lambda raw: self.text(raw) in known


DECODED = Decoded()


class DecodedSource(Source):
    """What stands at a path of the decoded body, with its payloads; structs are there, and no more."""

    def __init__(self, name: str, side: str, path: Sequence[str], keys: frozenset[int]) -> None:
        super().__init__(name, (DECODED,), True, Cost.WHOLE_BODY)
        self._side = side
        self._path = tuple(path)
        self._keys = keys

    def many(self, binding: Binding) -> tuple[Many, ...]:
        """The values, from the body as rows have it, secrets masked."""

        def get(exchange: Exchange) -> Sequence[Any]:
            if exchange.api_key not in self._keys:
                return ()
            return list(_walk(body_of(exchange, self._side, show_secrets=False).body, self._path))

        return (get,)


def payload_place(path: Sequence[str]) -> tuple[str, ...] | None:
    """The path of the bytes field whose payload a path leads into; None if it leads into none."""
    for index, part in enumerate(path):
        if part.endswith(PAYLOAD_SUFFIX):
            return (*path[:index], part.removesuffix(PAYLOAD_SUFFIX))
    return None


def _walk(value: Any, path: Sequence[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item, path)
    elif not path:
        yield True if isinstance(value, dict) else value
    elif isinstance(value, dict) and path[0] in value:
        yield from _walk(value[path[0]], path[1:])
