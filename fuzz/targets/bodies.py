"""Bodies of all APIs at all versions, whole frames, and pasted hex."""

import struct
from contextlib import suppress
from functools import cache, lru_cache
from random import Random
from typing import Any, ClassVar

from fuzz.mutators import mutate_bytes, number
from fuzz.target import Target, demand
from kdissect.decoders.as_json.json_bodies import request_to_jsonable, response_to_jsonable
from kdissect.decoders.as_json.jsonable import to_jsonable
from kdissect.decoders.encoder import encode, encode_request, encode_response
from kdissect.decoders.frames import dissect_request, dissect_response
from kdissect.decoders.generated.canonical import canonical_decoder
from kdissect.decoders.generated.compiled import decoder
from kdissect.decoders.generated.summary import summarizer
from kdissect.decoders.hexinput import HexError, parse_hex
from kdissect.decoders.messages import decode_request, decode_response
from kdissect.decoders.trees.tree_decoder import dissect
from kdissect.decoders.trees.tree_text import render
from kdissect.model.errors import DecodeError
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Message, Type
from tests.conformance.random_values import ValueMaker, all_bodies

_HEAD = struct.Struct(">hh")
LONG = Target.long
HEAD = _HEAD.size


def _message(data: bytes, is_response: bool) -> tuple[Message, int] | None:
    """Return API key and version as the first bytes say, bent to one there is."""
    if len(data) < HEAD:
        return None
    key, version = _HEAD.unpack_from(data)
    keys = sorted(protocol_messages.api_keys())
    api = protocol_messages.api(key if key in keys else keys[key % len(keys)])
    assert api is not None
    message = api.response if is_response else api.request
    versions = message.versions
    span = versions.last - versions.first + 1
    return message, version if version in versions else versions.first + version % span


class BodyTarget(Target):
    """Bodies: compiled, tree, JSON, summary and plain decoders agree; only DecodeError is raised."""

    modules = (
        "kdissect.decoders.cursor",
        "kdissect.decoders.trees.tree_decoder",
        "kdissect.decoders.as_json.jsonable",
        "kdissect.decoders.quirks",
        "kdissect.decoders.generated.values",
        "kdissect.decoders.generated.canonical",
    )
    longest = 700
    is_response = False
    # A tree has an object for each value, mostly of 1 to 4 bytes, and five other decoders go over the same
    # bytes. Trees are made of frames that are looked at, not of captures.
    seconds_per_mb = 15
    bytes_per_byte = 1500  # the tree of `tree_decoder`, "some hundred times the memory of its bytes"

    def seeds(self) -> list[bytes]:
        """Return every body, small, in two makings."""
        made = []
        for message, version in all_bodies():
            if message is not _side(message, self.is_response):
                continue
            head = _HEAD.pack(_key(message), version)
            for seed in (1, 2):
                maker = ValueMaker(message, version, seed, most=1 if seed == 1 else 2)
                data = encode(message, version, maker.body())
                if len(data) <= self.longest:
                    made.append(head + data)
        return made

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Mostly the body; sometimes it is read as another version, or as another API."""
        kind = dice.random()
        if kind < 0.08:
            return data[:2] + other[2:4] + data[4:]
        if kind < 0.1:
            return other[:4] + data[4:]
        if kind < 0.2:
            at = 4 + int(dice.random() * max(len(data) - 4, 1))
            put = dice.choice(
                (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x10", b"\0", b"\1", b"\xff\xff\xff\xff")
            )
            return data[:at] + put + data[at + dice.choice((0, 1, len(put))) :]
        return data[:4] + mutate_bytes(data[4:], dice, other[4:])

    def grow(self, parts: list[bytes]) -> bytes:
        """Return a long body of the first one's kind, half the time with some bytes changed."""
        found = _message(parts[0], self.is_response)
        return parts[0] if found is None else parts[0][:HEAD] + _long_body(*found, parts[0])

    def run(self, data: bytes) -> int:
        """Return all decoders of one body."""
        found = _message(data, self.is_response)
        if found is None:
            return 0
        message, version = found
        body = data[HEAD:]
        summary = summarizer(message, version)(body, 0)
        demand(len(summary.topics) + len(summary.errors) <= len(body), "a summary of what is there")
        tree = dissect(message, version, body)
        try:
            value, end = decoder(message, version)(body, 0)
        except DecodeError as error:
            demand(str(tree.error) == str(error), ("tree", tree.error, error))
            demand(0 <= error.offset <= len(body), "an offset in the body")
            demand(canonical_decoder(message, version)(body, 0) is None, "canonical, but does not fit")
            return 0
        demand(tree.error is None and _same((tree.value, tree.end), (value, end)), ("tree", tree.error))
        demand(summary.complete and summary.fits == (end == len(body)), "a summary of what fits is complete")
        to_jsonable(value, True)
        canonical = canonical_decoder(message, version)(body, 0)
        same = canonical is None or _same((canonical.value, canonical.end), (value, end))
        demand(same, "canonical")
        return 0


def _long_body(message: Message, version: int, seed: bytes) -> bytes:
    data = _long_valid(message, version)
    dice = Random(seed)
    return mutate_bytes(data, dice, seed) if dice.random() < 0.5 else data


class _LongMaker(ValueMaker):
    """Makes arrays as long as its budget of values lasts: nested ones would be long by a power."""

    left = LONG // 4

    def _value(self, of: Type) -> Any:
        self.left -= 1
        if not isinstance(of, Array):
            return super()._value(of)
        made: list[Any] = []
        most = self._random.randint(1, self._most)
        while self.left > 0 and len(made) < most:
            made.append(self._value(of.element))
        return made


@lru_cache(maxsize=200)
def _long_valid(message: Message, version: int) -> bytes:
    """Return a valid body, as long as `LONG` if the message has anything that repeats; cut there."""
    return encode(message, version, _LongMaker(message, version, 1, most=3000).body())[:LONG]


def _same(one: object, other: object) -> bool:
    """Equal, where a quota that is not a number equals itself."""
    return one == other or repr(one) == repr(other)


@cache
def _key(message: Message) -> int:
    return next(api.key for api in protocol_messages.all_apis() if message in (api.request, api.response))


def _side(message: Message, is_response: bool) -> Message:
    api = protocol_messages.api(_key(message))
    assert api is not None
    return api.response if is_response else api.request


class RequestBodies(BodyTarget):
    """Requests."""

    name = "request-bodies"
    about = "every request at every version: compiled == tree == JSON == plain"


class ResponseBodies(BodyTarget):
    """Responses."""

    name = "response-bodies"
    about = "every response at every version, likewise"
    is_response = True


class Frames(Target):
    """Whole frames: `decode_*` raise only DecodeError, trees fill their bytes."""

    name = "frames"
    about = "whole frames with headers, sizes, payloads: decode_*, trees, JSON as printed"
    modules = (
        "kdissect.decoders.frame_start",
        "kdissect.decoders.frame_trees",
        "kdissect.decoders.frames",
        "kdissect.decoders.headers",
        "kdissect.decoders.messages",
        "kdissect.decoders.trees.tree_text",
        "kdissect.decoders.generated.naming",
        "kdissect.decoders.trees.node",
        "kdissect.decoders.payloads.nesting",
    )
    longest = 500
    seconds_per_mb = 15  # trees, as above, printed
    bytes_per_byte = 2500

    def seeds(self) -> list[bytes]:
        """Return a request and a response of every API: a byte says which, then key and version, then the
        frame.
        """
        made = []
        for message, version in all_bodies():
            key = _key(message)
            is_response = message is _side(message, True)
            body = ValueMaker(message, version, 3, most=1).body()
            frame = (
                encode_response(key, version, 7, body)
                if is_response
                else encode_request(key, version, 7, "me", body)
            )
            if len(frame) <= self.longest:
                made.append(bytes((is_response,)) + _HEAD.pack(key, version) + frame)
        return made

    def grow(self, parts: list[bytes]) -> bytes:
        """Return a frame with a long body of the first one's kind."""
        found = _message(parts[0][1:], bool(parts[0][0] & 1)) if parts[0] else None
        if found is None:
            return parts[0]
        message, version = found
        frame = bytes(parts[0][5:21]) + _long_body(message, version, parts[0])
        return parts[0][:5] + len(frame[4:]).to_bytes(4) + frame[4:]

    def run(self, data: bytes) -> int:
        """Decode and dissect the frame."""
        if len(data) < 5:
            return 0
        key, version = _HEAD.unpack_from(data, 1)
        frame = data[5:]
        if data[0] & 1:
            _raises_decode_error(lambda: decode_response(frame, key, version, strict=bool(data[0] & 2)))
            tree = dissect_response(frame, key, version)
            _raises_decode_error(lambda: response_to_jsonable(frame, min(8, len(frame)), key, version))
        else:
            _raises_decode_error(lambda: decode_request(frame, strict=bool(data[0] & 2)))
            tree = dissect_request(frame)
            _raises_decode_error(lambda: request_to_jsonable(frame, min(16, len(frame)), key, version))
        demand((tree.start, tree.end) == (0, len(frame)) or tree.error is not None, "a tree of all bytes")
        for line in render(tree, frame):
            demand("\n" not in line and "\x1b" not in line, "one line without controls")
        return 0


def _raises_decode_error(run: "object") -> None:
    with suppress(DecodeError):
        run()  # type: ignore[operator]


class Hex(Target):
    """What people paste."""

    name = "hex"
    about = "hex dumps, C strings and plain hex as people paste them"
    modules = ("kdissect.decoders.hexinput", "kdissect.decoders.hexinput", "kdissect.decoders.hexinput")
    longest = 600
    free_seconds: ClassVar[float] = 0.1  # a `*` in a dump of a hundred bytes stands for a MB

    def seeds(self) -> list[bytes]:
        """Return the forms that are known."""
        content = bytes(range(48))
        xxd = b"".join(
            b"%08x: %s  %s\n"
            % (at, b" ".join(content[at + n : at + n + 2].hex().encode() for n in range(0, 16, 2)), b"." * 16)
            for at in range(0, 48, 16)
        )
        hexdump = (
            b"00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|\n*\n00000030\n"
        )
        return [
            content.hex().encode(),
            xxd,
            hexdump,
            rb'b"\x00\x01ab\n\101"',
            b"00 01, 0x02; ff:ee",
            b"# comment\n0001",
            rb"'\u00e9' \"\\\"",
            b"0000  00 00 00 10 00 12 00 03   ........\n",
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Text stays text most of the time."""
        if dice.random() < 0.3:
            return mutate_bytes(data, dice, other)
        out = bytearray(data)
        for _ in range(1 + int(dice.random() * 4)):
            at = int(dice.random() * (len(out) + 1))
            put = dice.choice(
                (b"\n", b" ", b"\\x", b"0x", b"*", b"|", b"'", b'"', b":", b"zz", b"00", b"ffffffff", b"#")
            )
            out[at : at + (dice.random() < 0.5)] = put if dice.random() < 0.8 else number(dice).hex().encode()
        return bytes(out)

    def run(self, data: bytes) -> int:
        """Return bytes or HexError."""
        try:
            found = parse_hex(data.decode("utf-8", "replace"))
        except HexError as error:
            demand(str(error) != "", "a reason")
            return 0
        return len(found)
