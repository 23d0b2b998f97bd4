"""Mutators of sizes and headers: frames of any API, before their body."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from kdissect.decoders.headers import request_header_version, response_header_version
from tests.mutation.corpus import (
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Recording,
    Scene,
    Side,
    recordings,
    scenes,
    side_of,
    sides,
)
from tests.mutation.mutators import MANY, SOME, Mutant, changed, mutator, splices, spread
from tests.support.messages.traffic import BROKER, CLIENT

ID_AT, CLIENT_ID_AT = 4, 8  # correlation id, length of client id (spec/004 "Complete Request Format")


def bodies(rng: random.Random, side: int | None = None) -> list[Side]:
    """Bodies behind the opening: a connection whose first request is broken may be taken for no Kafka."""
    return spread([b for b in sides() if b.scene.target > 0 and side in (None, b.side)], rng)


def of_java(rng: random.Random, fits: Callable[[Recording], bool]) -> list[Recording]:
    """Return recordings of Apache's Java clients, shuffled."""
    found = [r for r in recordings() if "_java_" in r.capture and fits(r)]
    return rng.sample(found, len(found))


def client_id(content: bytes) -> bytes:
    """Return the client id of a request."""
    return content[10 : 10 + max(int.from_bytes(content[8:10], signed=True), 0)]


def with_client_id(content: bytes, put: bytes | None) -> bytes:
    """Return a request that says another client id."""
    length = b"\xff\xff" if put is None else len(put).to_bytes(2)
    return content[:CLIENT_ID_AT] + length + (put or b"") + content[10 + len(client_id(content)) :]


# sizes


def _sized(body: Side, size: int) -> Mutant:
    """Return a frame whose size says something else; the other end closes."""
    mutant = _last(body, body.data)
    mutant.talk.lines[-1].size = size
    return mutant._replace(exchange=None, side=None)


def _last(body: Side, content: bytes) -> Mutant:
    """Return a frame that the other end cannot read: it closes, as Apache Kafka's brokers and clients do."""
    talk = body.talk(content)
    talk.cut_behind(talk.line(body.scene.target, body.side)).closer = (
        BROKER if body.side == CLIENT else CLIENT
    )
    return Mutant(body.scene, talk, body.scene.target, body.side)


@mutator("negative-size", "FRM001", "the size before a frame is not negative")
def _negative_size(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng):
        yield _sized(body, -rng.choice((1, 2, 100, 0x7FFFFFFF)))


@mutator("size-beyond-kafka", "FRM001", "the size before a frame is below 256 MiB")
def _wild_size(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng):
        yield _sized(body, rng.choice((1 << 28, 0x47455420, 0x7FFFFFFF)))


@mutator("size-beyond-limit", "FRM002", "a request is at most socket.request.max.bytes long, 100 MiB")
def _too_large(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        yield _sized(body, (100 << 20) + rng.randrange(1, 1000))


@mutator("cut-by-close", "FRM005", "a connection is not closed inside a frame", SOME)
def _cut_by_close(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng):
        talk = body.scene.talk()
        line = talk.line(body.scene.target, body.side)
        if len(line.content) > 40:
            line.size = len(line.content)
            line.content = line.content[: rng.randrange(24, len(line.content) - 1)]
            talk.cut_behind(line).closer = body.side
            yield Mutant(body.scene, talk)


@mutator("request-below-8-bytes", "FRM004", "a request holds 8 bytes of header at least")
def _short_request(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        yield _last(body, body.data[: rng.randrange(1, 8)])


@mutator("response-below-4-bytes", "FRM004", "a response holds 4 bytes of header at least")
def _short_response(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, BROKER):
        mutant = _last(body, body.data[: rng.randrange(1, 4)])
        yield mutant._replace(exchange=None)  # no correlation id says whose answer it is


@mutator("sasl-token-too-large", "FRM003", "a SASL frame is at most 512 KiB long", 6)
def _large_token(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        if body.api.key == SASL_AUTHENTICATE:
            value = body.value()
            value.auth_bytes = bytes(value.auth_bytes) + b"x" * (513 << 10)
            yield changed(body, body.encoded(value))


@mutator("size-counts-itself", "FRM007", "a size does not count its own 4 bytes")
def _size_counts_itself(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng):
        talk = body.scene.talk()
        line = talk.line(body.scene.target, body.side)
        if any(other.side == body.side for other in talk.lines[talk.lines.index(line) + 1 :]):
            line.size = len(line.content) + 4
            yield Mutant(body.scene, talk, body.scene.target, body.side)


def _off_by(more: int, rng: random.Random) -> Iterator[Mutant]:
    """Another frame of the same side follows. Behind SaslHandshake v0 come tokens without a header."""
    for body in bodies(rng):
        talk = body.scene.talk()
        line = talk.line(body.scene.target, body.side)
        if (body.api.key, body.version) == (SASL_HANDSHAKE, 0) or (more < 0 and line.content[-1]):
            continue  # a byte that is not 0 makes a size beyond all of what follows: FRM001
        if any(other.side == body.side for other in talk.lines[talk.lines.index(line) + 1 :]):
            line.size = len(line.content) + more
            yield Mutant(body.scene, talk, None, body.side)  # the connection's end tells of it


@mutator("size-one-too-large", "FRM008", "a size is the length of header and body", MANY)
def _one_too_large(rng: random.Random) -> Iterator[Mutant]:
    yield from _off_by(1, rng)


@mutator("size-one-too-small", "FRM008", "a size is the length of header and body", MANY)
def _one_too_small(rng: random.Random) -> Iterator[Mutant]:
    yield from _off_by(-1, rng)


# header fields


@splices("client-id-length", "HDR001", "the client id is a classic string within the frame", CLIENT)
def _client_id_length(body: Side, rng: random.Random) -> bytes | None:
    if body.scene.target == 0 or request_header_version(body.api.key, body.version) == 0:
        return None
    length = rng.choice((-2, -5, -100, 0x7FF0))
    return body.spliced(CLIENT_ID_AT, 10, length.to_bytes(2, signed=True))


@splices("negative-version", "HDR002", "an API version is not negative", CLIENT)
def _negative_version(body: Side, rng: random.Random) -> bytes | None:
    if body.scene.target == 0:
        return None
    return body.spliced(2, 4, (-rng.randrange(1, 5)).to_bytes(2, signed=True))


@splices("header-tags-missing", "HDR003", "a flexible version has a tag section in its header")
def _tags_missing(body: Side, rng: random.Random) -> bytes | None:
    if not _has_tags(body) or body.scene.target == 0:
        return None
    first = body.data[body.offset]
    # Only a zero passes for a tag section: with another byte the header itself does not fit.
    content = body.spliced(body.offset - 1, body.offset, b"")
    return content if first == 0 and any(body.data[body.offset :]) and not body.fits(content) else None


@splices("header-tags-too-many", "HDR003", "a version that is not flexible has no tag section in its header")
def _tags_too_many(body: Side, rng: random.Random) -> bytes | None:
    if _has_tags(body) or body.scene.target == 0 or not any(body.data[body.offset :]):
        return None
    content = body.spliced(body.offset, body.offset, b"\0")
    versions = range(body.message.versions.first, body.message.versions.last + 1)
    return None if any(body.fits(content, version) for version in versions) else content


def _has_tags(body: Side) -> bool:
    key, version = body.api.key, body.version
    if body.side == CLIENT:
        return request_header_version(key, version) == 2
    return response_header_version(key, version) == 1


@splices("header-tag", "HDR004", "headers have no tagged fields")
def _header_tag(body: Side, rng: random.Random) -> bytes | None:
    if not _has_tags(body):
        return None
    return body.spliced(body.offset - 1, body.offset, b"\x01\x05\x02ab")


def _client_ids(rng: random.Random) -> Iterator[Side]:
    for body in bodies(rng, CLIENT):
        if request_header_version(body.api.key, body.version) > 0 and client_id(body.data):
            yield body


@mutator("client-id-null", "HDR005", "a client names itself")
def _no_client_id(rng: random.Random) -> Iterator[Mutant]:
    for body in _client_ids(rng):
        yield changed(body, with_client_id(body.data, rng.choice((None, b""))))


@mutator("client-id-other", "HDR006", "a client keeps its name on a connection")
def _other_client_id(rng: random.Random) -> Iterator[Mutant]:
    for body in _client_ids(rng):
        before = body.scene.exchanges[body.scene.target - 1].client_id
        if before:
            yield changed(body, with_client_id(body.data, client_id(body.data) + b"-2"))


@mutator("client-id-not-utf8", "HDR007", "a client id is UTF-8")
def _bad_client_id(rng: random.Random) -> Iterator[Mutant]:
    for body in _client_ids(rng):
        talk = body.scene.talk()
        for line in talk.lines:
            if line.side == CLIENT and client_id(line.content) == client_id(body.data):
                line.content = with_client_id(line.content, b"\xff" + client_id(line.content)[1:])
        yield Mutant(body.scene, talk)


# API keys and versions


@mutator("unknown-api", "HDR010", "an API key is one of Kafka's")
def _unknown_api(rng: random.Random) -> Iterator[Mutant]:
    for body in _client_ids(rng):
        yield _last(body, body.spliced(0, 2, rng.randrange(10000, 30000).to_bytes(2)))


@mutator("newer-version", "HDR011", "a version newer than the schema is told as that")
def _newer_version(rng: random.Random) -> Iterator[Mutant]:
    for body in _client_ids(rng):
        version = body.api.request.versions.last + rng.randrange(1, 4)
        yield _last(body, body.spliced(2, 4, version.to_bytes(2)))


def advertised(scene: Scene, key: int) -> Any:
    """First and last version of an API in the last ApiVersions answer before the exchange, or None."""
    found = None
    for exchange in scene.exchanges[: scene.target]:
        if exchange.api_key == API_VERSIONS and exchange.response is not None:
            answer = exchange.response_body()
            if answer.error_code == 0:
                ranges = {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}
                found = ranges.get(key)
    return found


@mutator(
    "version-above-advertised", "VER001", "a request's version lies in the range the broker advertised", MANY
)
def _above(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        found = advertised(body.scene, body.api.key)
        if found is not None and body.api.key != API_VERSIONS:
            yield _last(body, body.spliced(2, 4, (found[1] + 1).to_bytes(2)))


@mutator(
    "version-below-advertised", "VER001", "a request's version lies in the range the broker advertised", MANY
)
def _below(rng: random.Random) -> Iterator[Mutant]:
    for body in bodies(rng, CLIENT):
        found = advertised(body.scene, body.api.key)
        # Kafka 4 names Produce from 0 on for the sake of old librdkafka and takes 3 at least (KAFKA-18659).
        if found is not None and found[0] > 0 and body.api.key != API_VERSIONS:
            yield _last(body, body.spliced(2, 4, (found[0] - 1).to_bytes(2)))


def _with_answer(rng: random.Random, change: Callable[[Any, int], bool]) -> Iterator[Mutant]:
    """Yield answers to ApiVersions that say something else of the API that the client uses afterwards."""
    for body in bodies(rng, CLIENT):
        scene = body.scene
        asked = [n for n in range(scene.target) if scene.exchanges[n].api_key == API_VERSIONS]
        if not asked or body.api.key == API_VERSIONS or advertised(scene, body.api.key) is None:
            continue
        answer = side_of(scene._replace(target=asked[-1]), BROKER)
        value = None if answer is None else answer.value()
        if answer is not None and change(value, body.api.key):
            talk = scene.talk().replace(asked[-1], BROKER, answer.encoded(value))
            yield Mutant(scene, talk)  # an equal one before the scene's exchange breaks it too


@mutator("api-not-advertised", "VER001", "a request's API is one the broker advertised", MANY)
def _not_listed(rng: random.Random) -> Iterator[Mutant]:
    def leave_out(answer: Any, key: int) -> bool:
        answer.api_keys = [row for row in answer.api_keys if row.api_key != key]
        return True

    yield from _with_answer(rng, leave_out)


@mutator("less-advertised", "VER001", "a request's version lies in the range the broker advertised", MANY)
def _less(rng: random.Random) -> Iterator[Mutant]:
    def lower(answer: Any, key: int) -> bool:
        for row in answer.api_keys:
            if row.api_key == key and row.max_version > row.min_version:
                row.max_version = row.max_version - 1
                return True
        return False

    for mutant in _with_answer(rng, lower):
        if (
            advertised(mutant.scene, mutant.scene.exchange.api_key or 0)[1]
            == mutant.scene.exchange.api_version
        ):
            yield mutant


@mutator("api-versions-left-out", "VER003", "a client asks for ApiVersions first")
def _no_api_versions(rng: random.Random) -> Iterator[Mutant]:
    for scene in rng.sample(scenes(), len(scenes())):
        keys = [exchange.api_key for exchange in scene.exchanges]
        is_login = scene.exchange.api_key in (SASL_HANDSHAKE, SASL_AUTHENTICATE)  # which may come first
        if keys[0] == API_VERSIONS and keys.count(API_VERSIONS) == 1 and scene.target == 1 and not is_login:
            talk = scene.talk().drop(0, CLIENT).drop(0, BROKER)
            yield Mutant(scene, talk, 0)


@mutator("api-versions-body", "VER010", "ApiVersions v0-2 has no body", 12)
def _array(rng: random.Random) -> Iterator[Mutant]:
    for body in spread([b for b in sides() if b.api.key == API_VERSIONS and b.side == CLIENT], rng):
        if body.version < 3:
            yield changed(body, body.data + bytes(4))
