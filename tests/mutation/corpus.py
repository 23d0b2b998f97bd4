"""Real connections of the captures, and the exchanges of them that mutators change."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any, NamedTuple

from kdissect.api import Dissection
from kdissect.decoders import quirks
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.trees.node import Node
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.schema.types import Api, Message
from kdissect.session.events import ConnectionClosed
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionKind
from tests.mutation.talk import Talk, judged
from tests.support.console import CAPTURES
from tests.support.messages.traffic import BROKER, CLIENT

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
OPENING = (API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE)
# Frames of this size are preferred: rich enough to have every field, small enough for two thousand mutants.
HANDY = 3000


class Recording(NamedTuple):
    """A connection that was recorded from its first byte, without a hole: its exchanges in stream order."""

    capture: str
    exchanges: tuple[Exchange, ...]

    def of(self, *keys: int) -> list[int]:
        """Return indexes of the exchanges of some APIs."""
        return [index for index, exchange in enumerate(self.exchanges) if exchange.api_key in keys]


class Scene(NamedTuple):
    """Exchanges of one recording in their order; those between them may be left out.

    `target` is the index of the one to change. `other` are exchanges of another connection that tell what
    these build on.
    """

    capture: str
    exchanges: tuple[Exchange, ...]
    target: int
    other: tuple[Exchange, ...] = ()

    def talk(self) -> Talk:
        """Return what is said, to be changed."""
        return Talk(self.exchanges, self.other)

    @property
    def exchange(self) -> Exchange:
        """The one to change."""
        return self.exchanges[self.target]

    @property
    def key(self) -> tuple[object, ...]:
        """Tells scenes apart."""
        connection = self.exchange.connection.id
        both = (*self.exchanges, *self.other)
        return (self.capture, connection, len(self.other), *(exchange.ordinal for exchange in both))


class Side:
    """A body that may be changed: one side of the scene's exchange, which fits the schema exactly."""

    def __init__(self, scene: Scene, side: int, api: Api, version: int, data: bytes, offset: int) -> None:
        self.scene = scene
        self.side = side
        self.api = api
        self.version = version
        self.data = data
        self.offset = offset

    @property
    def message(self) -> Message:
        """The schema of the body."""
        return self.api.request if self.side == CLIENT else self.api.response

    @cached_property
    def tree(self) -> Node:
        """The pieces of the body."""
        return dissect(self.message, self.version, self.data, self.offset)

    def value(self) -> Any:
        """Return the decoded body, a new object each time."""
        return decoder(self.message, self.version)(self.data, self.offset)[0]

    def encoded(self, value: Any) -> bytes:
        """Return the frame's content with another body."""
        return self.data[: self.offset] + encode(self.message, self.version, value)

    def spliced(self, start: int, end: int, put: bytes) -> bytes:
        """Return the frame's content with other bytes from `start` to `end`."""
        return self.data[:start] + put + self.data[end:]

    def fits(self, content: bytes, version: int | None = None, shift: int = 0) -> bool:
        """Return whether a content is header and body of a version, and nothing else; `shift`: of other
        headers.
        """
        try:
            asked = self.version if version is None else version
            return decoder(self.message, asked)(content, self.offset + shift)[1] == len(content)
        except DecodeError:
            return False

    def talk(self, content: bytes) -> Talk:
        """Return the scene with this body changed."""
        return self.scene.talk().replace(self.scene.target, self.side, content)


def side_of(scene: Scene, side: int) -> Side | None:
    """Return a body of the scene's exchange; None unless it fits and is written as our encoder writes it."""
    exchange = scene.exchange
    frame = exchange.request if side == CLIENT else exchange.response
    api = protocol_messages.api(exchange.api_key) if exchange.api_key is not None else None
    if frame is None or frame.is_cut or api is None or exchange.api_version not in api.versions:
        return None
    version = exchange.api_version
    offset = exchange.request_body_offset if side == CLIENT else exchange.response_body_offset
    if side == BROKER and quirks.response_body_version(api.key, version, frame.data, offset) != version:
        return None
    found = Side(scene, side, api, version, frame.data, offset)
    return found if found.fits(frame.data) else None


# recordings


@cache
def recordings() -> tuple[Recording, ...]:
    """Return every whole Kafka connection of the corpus, in the order of captures and their first packets."""
    found: list[Recording] = []
    for path in sorted(CAPTURES.iterdir()):
        if ".pcap" in path.name:
            found += _recordings_of(path.name)
    return tuple(found)


def _recordings_of(name: str) -> Iterator[Recording]:
    exchanges: dict[str, list[Exchange]] = defaultdict(list)
    whole: set[str] = set()
    for event in Dissection(CAPTURES / name).events():
        if isinstance(event, Exchange):
            exchanges[event.connection.id].append(event)
        elif isinstance(event, ConnectionClosed):
            info = event.connection
            lost = info.tcp is not None and info.tcp.gaps
            if info.kind is ConnectionKind.KAFKA and not info.middle_start and not lost:
                whole.add(info.id)
    for connection, found in exchanges.items():
        if connection in whole and all(map(_is_sound, found)):
            yield Recording(name, tuple(sorted(found, key=lambda exchange: exchange.ordinal)))


def _is_sound(exchange: Exchange) -> bool:
    frames = exchange.request, exchange.response
    return exchange.state is not State.ORPHAN_RESPONSE and not any(f is not None and f.is_cut for f in frames)


def opening(recording: Recording) -> int:
    """Return how many exchanges at the start negotiate versions and authenticate."""
    count = 0
    for exchange in recording.exchanges:
        if exchange.kind is ExchangeKind.KAFKA and exchange.api_key not in OPENING:
            break
        count += 1
    return count


def scene_at(recording: Recording, index: int) -> Scene:
    """Return an exchange with the opening, an earlier one of its kind if there is one, and the next
    exchange.
    """
    exchanges = recording.exchanges
    first = min(opening(recording), index)
    target = exchanges[index]
    kind = target.api_key, target.api_version
    earlier = [n for n in range(first, index) if (exchanges[n].api_key, exchanges[n].api_version) == kind]
    chosen = [*range(first), *earlier[-1:], index, *range(index + 1, min(index + 2, len(exchanges)))]
    return Scene(recording.capture, tuple(exchanges[n] for n in chosen), chosen.index(index))


def prefix(recording: Recording, index: int, *keys: int) -> Scene:
    """Return everything up to an exchange and the next one. With `keys`, only these APIs and the
    opening.
    """
    first, exchanges = opening(recording), recording.exchanges
    chosen = [
        n
        for n in range(min(index + 2, len(exchanges)))
        if n < first or n == index or not keys or exchanges[n].api_key in keys
    ]
    return Scene(recording.capture, tuple(exchanges[n] for n in chosen), chosen.index(index))


# targets


@cache
def scenes() -> tuple[Scene, ...]:
    """For each API version the handiest exchange of a Java client and of another, API by API."""
    best: dict[tuple[int, int, bool], tuple[tuple[bool, int], Recording, int]] = {}
    for recording in recordings():
        java = "_java_" in recording.capture
        for index, exchange in enumerate(recording.exchanges):
            if exchange.state is not State.COMPLETE or exchange.anomalies or exchange.is_unknown:
                continue
            assert exchange.request is not None
            assert exchange.response is not None
            size = exchange.request.size + exchange.response.size
            rank = size <= HANDY, size if size <= HANDY else -size
            kind = exchange.api_key or 0, exchange.api_version or 0, java
            if kind not in best or rank > best[kind][0]:
                best[kind] = rank, recording, index
    return tuple(scene_at(recording, index) for _, (_, recording, index) in sorted(best.items()))


@cache
def sides() -> tuple[Side, ...]:
    """Return both bodies of every scene."""
    found = (side_of(scene, side) for scene in scenes() for side in (CLIENT, BROKER))
    return tuple(body for body in found if body is not None)


# Exchanges of one API version that are offered to mutators of that API, each of another connection.
PER_VERSION = 10


@cache
def pool(api_key: int) -> tuple[Scene, ...]:
    """Return exchanges of an API: some of each version, of many captures, the handiest first."""
    found: dict[int, list[tuple[bool, int, int, Recording, int]]] = defaultdict(list)
    for number, recording in enumerate(recordings()):
        seen: set[int] = set()
        for index in recording.of(api_key):
            exchange = recording.exchanges[index]
            version = exchange.api_version or 0
            if version in seen or exchange.state is not State.COMPLETE or exchange.anomalies:
                continue
            assert exchange.request is not None
            assert exchange.response is not None
            size = exchange.request.size + exchange.response.size
            seen.add(version)
            found[version].append((size > HANDY, -size, number, recording, index))
    scenes = []
    for _, rows in sorted(found.items()):
        rows.sort(key=lambda row: row[:3])
        scenes += [scene_at(recording, index) for *_, recording, index in _of_many_captures(rows)]
    return tuple(scenes)


def _of_many_captures(rows: list[Any]) -> list[Any]:
    """Return the first rows, those of captures that were not chosen yet before others."""
    captures: dict[str, int] = defaultdict(int)
    ranked = []
    for place, row in enumerate(rows):
        captures[row[3].capture] += 1
        ranked.append((captures[row[3].capture], place))
    return [rows[place] for _, place in sorted(ranked)[:PER_VERSION]]


@cache
def sides_of(api: str, side: int) -> tuple[Side, ...]:
    """Bodies of one message, of every version."""
    known = protocol_messages.api_by_name(api)
    assert known is not None
    found = (side_of(scene, side) for scene in pool(known.key))
    return tuple(body for body in found if body is not None)


_known: dict[tuple[object, ...], frozenset[str]] = {}


def codes_before(scene: Scene) -> frozenset[str]:
    """Return what the rules say of the scene as it was recorded."""
    if scene.key not in _known:
        found = judged(scene.talk()).findings.all()
        _known[scene.key] = frozenset(finding.code for finding in found)
    return _known[scene.key]
