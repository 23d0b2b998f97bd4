"""Bodies that were decoded before, byte for byte the same, are not decoded again.

Heartbeats, answers without records and most acknowledgements repeat. Of the answers to Produce the offsets
and times of a partition are left out of the comparison: no rule and no history reads them, and the value
given for such a body has those of the first one.
"""

from itertools import pairwise
from typing import Any

from kdissect.decoders.bodies import decode_once
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.decoded import Decoded
from kdissect.decoders.node import Node
from kdissect.decoders.spanned import dissect
from kdissect.model.frame import Frame
from kdissect.session.exchange import Exchange

_PRODUCE = 0  # org.apache.kafka.common.protocol.ApiKeys
_UNREAD = frozenset({"base_offset", "log_append_time_ms", "log_start_offset"})  # of answers to Produce
# Longer bodies hold records or lists, which hardly repeat.
_LONGEST = 256
# Of one kind: a producer's partitions, say. Such a body takes up to 2 KB, and few kinds repeat that much.
_MOST_KEPT = 256
# A kind of which fewer than half of so many bodies were known is not looked up any more.
_TRIED = 64
# Hostile requests can name 2^32 kinds; the schema has 368 for each side.
_KINDS_KEPT = 1024


class RepeatedBodies:
    """`decode` fills `Exchange.bodies_cache`. It only saves time: pickled it forgets what it knows."""

    __slots__ = ("_kinds",)

    def __init__(self) -> None:
        self._kinds: dict[tuple[int | None, int | None], tuple[_Kind, _Kind]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return RepeatedBodies, ()

    def decode(self, exchange: Exchange) -> None:
        """The bodies as `Exchange.bodies` gives them, but for what nobody reads. Raises nothing."""
        # Hot, once an exchange.
        key, version = exchange.api_key, exchange.api_version
        asks, answers = self._kinds.get((key, version)) or self._open(key, version)
        asked = answered = None
        request, response = exchange.request, exchange.response
        if answers.repeats and response is not None:
            answered = answers.find(response, exchange.response_body_offset)
        if asks.repeats and request is not None:
            asked = asks.find(request, exchange.request_body_offset)
        if answered is None:
            if asked is None or key is None or version is None:
                asked, answered = exchange.bodies()
            else:
                answered = decode_once(response, exchange.response_body_offset, key, version, True)
        elif asked is None and key is not None and version is not None:
            asked = decode_once(request, exchange.request_body_offset, key, version, False)
        exchange.bodies_cache = asked, answered
        if asks.missed:
            asks.learn(request, exchange.request_body_offset, asked)
        if answers.missed:
            answers.learn(response, exchange.response_body_offset, answered)

    def _open(self, key: int | None, version: int | None) -> "tuple[_Kind, _Kind]":
        if len(self._kinds) >= _KINDS_KEPT:
            self._kinds.clear()
        found = self._kinds[key, version] = _Kind(key, version, False), _Kind(key, version, True)
        return found


class _Kind:
    """Bodies of one side of an API in a version. `repeats`: they are worth looking up.

    `missed`: the last one that was looked up was not known.
    """

    __slots__ = ("_found", "_key", "_known", "_message", "_places", "_tried", "_version", "missed", "repeats")

    def __init__(self, key: int | None, version: int | None, is_response: bool) -> None:
        self._message = None if key is None or version is None else known_body(key, version, is_response)
        self._version = version or 0
        self._known: dict[bytes, Decoded] = {}
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        """Length and offset of a body -> first byte that is not compared, and the next one that is."""
        self._key = key if is_response else None
        self._tried = self._found = 0
        self.repeats = self._message is not None
        self.missed = False

    def find(self, frame: Frame, at: int) -> Decoded | None:
        """The body, if it is known."""
        data = frame.data
        size = len(data)
        place = self._places.get((size, at))
        if place is not None and frame.size == size:
            found = self._known.get(data[at : place[0]] + data[place[1] :])
            if found is not None:
                self._found += 1
                return found
        if at and frame.size == size:
            self._miss(size)
        return None

    def _miss(self, size: int) -> None:
        self.missed = size <= _LONGEST
        self._tried += 1
        if self._tried > _TRIED:
            if self._found < self._tried:
                self.repeats = self.missed = False
                self._known.clear()
                self._places.clear()
            self._tried = self._found = 0

    def learn(self, frame: Frame | None, at: int, body: Decoded | None) -> None:
        """Keep a body that was missed, if it is plain and fits."""
        self.missed = False
        if frame is None or body is None or not (body.is_plain and body.fits) or self._message is None:
            return
        data = frame.data
        place = self._places.get((len(data), at))
        if place is None:
            place = self._places[len(data), at] = self._place(data, at)
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        self._known[data[at : place[0]] + data[place[1] :]] = body

    def _place(self, data: bytes, at: int) -> tuple[int, int]:
        """Where the numbers stand that nobody reads, if they stand side by side."""
        if self._key != _PRODUCE or self._message is None:
            return len(data), len(data)
        spans = sorted(_unread(dissect(self._message, self._version, data, at)))
        for (_, end), (start, _) in pairwise(spans):
            if start != end:
                return len(data), len(data)
        return (spans[0][0], spans[-1][1]) if spans else (len(data), len(data))


def _unread(node: Node) -> list[tuple[int, int]]:
    if node.field is not None and node.field.name in _UNREAD:
        return [(node.start, node.end)]
    return [span for child in node.children for span in _unread(child)]
