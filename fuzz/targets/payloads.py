"""What bytes fields hold, records of Kafka's own topics, filters, key logs, TLS."""

import struct
from pathlib import Path
from random import Random

import kdissect
from fuzz.mutators import mutate_bytes
from fuzz.target import Target, demand
from kdissect.decoders.payloads.internal_records import decode_record, find_record
from kdissect.decoders.payloads.nesting import FINDERS, Expander, find, nest, payload_jsonable
from kdissect.decoders.payloads.scope import Scope
from kdissect.decoders.trees.node import Node
from kdissect.model.key_log import KeyLog
from kdissect.query import FilterError, compile_filter
from kdissect.query.binding import Context
from kdissect.query.complete import complete
from kdissect.query.syntax.filter_parser import parse
from kdissect.schema.logs import all_logs
from kdissect.session.exchange import Exchange
from tests.decoders.payloads.vectors import groups, records
from tests.support.console import CAPTURES

_PLACES = sorted(FINDERS)
_FACTS = (
    {},
    {"protocol_type": "consumer", "protocol_name": "cooperative-sticky"},
    {"protocol_type": "connect", "protocol_name": "sessioned"},
    {"protocol_type": "consumer", "protocol_name": "stream"},
    {"mechanism": "PLAIN"},
    {"mechanism": "SCRAM-SHA-256", "from_client": True},
    {"mechanism": "OAUTHBEARER"},
    {"mechanism": "GSSAPI"},
    {"compression_type": 1},
    {"compression_type": 4},
    {"inner_api": (3, 9)},
    {"protocol_type": "sr", "protocol_name": "v0"},
)


def fills(tree: Node, start: int, end: int) -> None:
    """Demand that a tree covers its bytes."""
    demand(tree.start == start and tree.end <= end, "a tree within its bytes")
    for node in tree.walk():
        at = node.start
        for child in node.children:
            demand(child.start == at, ("children in order", node.name))
            at = child.end
        demand(not node.children or at == node.end, ("children fill", node.name))


class Payloads(Target):
    """Any bytes where a payload may stand."""

    name = "payloads"
    about = "subscriptions, assignments, SASL tokens, telemetry, envelopes: any bytes in any place"
    modules = ("kdissect.decoders.payloads",)
    longest = 500
    seconds_per_mb = 4  # a tree, in which two bytes of protobuf are a node
    bytes_per_byte = 4000

    def seeds(self) -> list[bytes]:
        """Return two bytes for place and facts, then the payload."""
        texts = [
            b"\0alice\0secret",
            b"n,,n=user,r=nonce",
            b"r=nonce,s=c2FsdA==,i=4096",
            b"n,,\1auth=Bearer a.eyJzdWIiOiJ4In0.b\1\1",
        ]
        contents = [
            *groups().values(),
            *texts,
            b"\0\0\0\1\0\4test",
            b"\x0a\x05\x0a\x03abc",
            b"\x60\x07\x06\x05\x2b\x05\x01",
        ]
        made = [bytes((n % len(_PLACES), n % len(_FACTS))) + one for n, one in enumerate(contents * 3)]
        return made + [
            bytes((place, fact)) + contents[place % len(contents)]
            for place in range(len(_PLACES))
            for fact in range(len(_FACTS))
        ]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Mostly the payload."""
        if dice.random() < 0.1:
            return bytes((int(dice.random() * 256), int(dice.random() * 256))) + data[2:]
        return data[:2] + mutate_bytes(data[2:], dice, other[2:])

    def grow(self, parts: list[bytes]) -> bytes:
        """Return the place and facts of the first."""
        return parts[0][:2] + b"".join(part[2:] for part in parts)

    def run(self, data: bytes) -> int:
        """As a tree and as a value."""
        if len(data) < 2:
            return 0
        place, scope = _PLACES[data[0] % len(_PLACES)], Scope(_FACTS[data[1] % len(_FACTS)])
        content = data[2:]
        padded, end = b"??" + content + b"?", 2 + len(content)
        found = find(place, padded, 2, end, scope)
        if found is not None:
            tree = found.dissect(padded, 2, end, nest)
            nest(tree, padded, scope)
            fills(tree, 2, end)
        alone = find(place, content, 0, len(content), scope)
        demand((alone is None) == (found is None), "the place of the bytes")
        if alone is not None:
            payload_jsonable(alone.decode(content, len(content)), False, Expander(scope, False, []))
        return 1 << 16 if "compression_type" in scope.facts else 0


class RecordPayloads(Target):
    """Records of Kafka's own topics."""

    name = "own-records"
    about = "keys and values of __consumer_offsets, __transaction_state, the metadata log, control records"
    modules = (
        "kdissect.decoders.payloads.internal_records",
        "kdissect.decoders.payloads.internal_record_trees",
    )
    longest = 500
    bytes_per_byte = 3000

    def __init__(self) -> None:
        self._topics = [logged.name for logged in all_logs()]

    def seeds(self) -> list[bytes]:
        """Return a byte for the topic, the length of the key, key and value."""
        made = []
        for row in records():
            key, value = (part or b"" for part in row[2:4])
            topic = next((n for n, name in enumerate(self._topics) if name == row[0]), 0)
            made.append(struct.pack(">BH", topic, len(key)) + key + value)
        return [one for one in made if len(one) <= self.longest]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Return the key and value."""
        if dice.random() < 0.1:
            return bytes((int(dice.random() * 256),)) + data[1:]
        return data[:3] + mutate_bytes(data[3:], dice, other[3:])

    def run(self, data: bytes) -> int:
        """As values and as trees."""
        if len(data) < 3:
            return 0
        index, size = struct.unpack_from(">BH", data)
        topic = self._topics[index % len(self._topics)]
        size = min(size, len(data) - 3)
        key: bytes | None = data[3 : 3 + size]
        value: bytes | None = data[3 + size :]
        if index & 0x80:
            key, value = (None, value) if index & 0x40 else (key, None)
        is_control = topic == "control"
        for payload in decode_record(topic, key, value, is_control):
            if payload is not None:
                payload_jsonable(payload)
        spans = [None if part is None else (b"?" + part + b"??", 1, 1 + len(part)) for part in (key, value)]
        for found, span in zip(find_record(topic, spans[0], spans[1], is_control), spans, strict=True):
            if found is not None and span is not None:
                tree = found.dissect(*span, nest)
                nest(tree, span[0], Scope())
                fills(tree, span[1], span[2])
        return 0


_WORDS = (
    "api",
    "latency",
    "topic",
    "topics",
    "client.ip",
    "time",
    "error",
    "state",
    "kind",
    "number",
    "request.bytes",
    "response.**.error_code",
    "request.topics.name",
    "request.*",
    "batch.codec",
    "client_id",
    "group",
    "anomaly",
    "==",
    "!=",
    "<",
    ">=",
    "~",
    "!~",
    "contains",
    "matches",
    "in",
    "not in",
    "in (",
    "1",
    "-1",
    "0x10",
    "50ms",
    "10kB",
    "+1s",
    "10:00:00",
    "2026-11-21T09:06:44Z",
    "10.0.0.0/8",
    "::/0",
    "true",
    "null",
    "NONE",
    "Produce",
    '"a b"',
    "'('",
    ".*",
    "(a+)+b",
    "[a-z]{9}",
    "3..7",
    "..",
    "1, 2)",
    "and",
    "or",
    "not",
    "(",
    ")",
    "&&",
    "!",
    "any(",
    "all(",
    "count(",
    "has finding",
    ",",
    "\u20ac",
    "'\\x00'",
    "((((",
    "not not not",
)


class Filters(Target):
    """The filter language."""

    name = "filters"
    about = "the filter language: any text is a filter or a FilterError; filters hold of any exchange"
    modules = ("kdissect.query",)
    longest = 300
    free_seconds = 0.15  # a name nobody knows is compared with all there are
    long = 16_000  # fewer characters than `Limits.filter_characters`
    bytes_per_byte = 20_000  # a predicate: closures, patterns, projectors

    def __init__(self) -> None:
        found: dict[object, Exchange] = {}
        for exchange in kdissect.open(str(CAPTURES / "tansu_rdk216_kip848.pcap")):
            found.setdefault((exchange.api_key, exchange.state), exchange)
        self._exchanges = list(found.values())[:5]
        self._context = Context(
            start_ns=lambda: 10**18, findings_of=lambda _: ("FRM006",), file_names=("a", "b")
        )

    def seeds(self) -> list[bytes]:
        """Return some inputs of each kind."""
        texts = [
            "api == Produce",
            "latency > 50ms and not error",
            "topic matches 'a.*b' or topic ~ x",
            "client.ip in 10.0.0.0/8",
            "any(response.**.error_code in (1, 2))",
            "count(topics) > 3",
            "time >= 2026-11-21T09:06:44Z",
            "has finding FRM",
            "request.bytes in 1kB..2MB",
            "not (state == unanswered) && kind != kafka",
            "batch.codec == zstd",
            "error == NONE",
        ]
        return [text.encode() for text in (*texts, *_WORDS)]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Words put in, taken out, swapped; sometimes bytes."""
        if dice.random() < 0.35:
            return mutate_bytes(data, dice, other)
        words = data.decode("utf-8", "replace").split(" ")
        for _ in range(1 + int(dice.random() * 3)):
            at = int(dice.random() * (len(words) + 1))
            kind = dice.random()
            if kind < 0.5:
                words.insert(at, dice.choice(_WORDS))
            elif kind < 0.7:
                words[at : at + 1] = [dice.choice(_WORDS)]
            elif kind < 0.85:
                del words[at : at + 1]
            else:
                words[at:at] = [dice.choice(("and", "or")), *other.decode("utf-8", "replace").split(" ")]
        return " ".join(words).encode()

    def grow(self, parts: list[bytes]) -> bytes:
        """Return one filter of all."""
        return b" or ".join(parts)

    def run(self, data: bytes) -> int:
        """Compile, print, compile again, test exchanges, complete."""
        text = data.decode("utf-8", "replace")
        complete(text, len(text) // 2)
        try:
            predicate = compile_filter(text)
        except FilterError as error:
            demand(bool(error.render()) and 0 <= error.start <= len(text), "a place")
            return 4096  # an error message takes what it takes: all fields are compared with a name
        printed = str(predicate)
        demand(str(parse(printed)) == printed, "printed")
        test, again = predicate.bind(self._context), compile_filter(printed).bind(self._context)
        for exchange in self._exchanges:
            demand(test(exchange) is again(exchange), "the same answer")
        return 8192


class KeyLogs(Target):
    """SSLKEYLOGFILE."""

    name = "key-logs"
    about = "key logs in any pieces, lines of any length"
    modules = ("kdissect.model.key_log",)

    def seeds(self) -> list[bytes]:
        """Return each label, comments, damage."""
        random = bytes(range(32)).hex().encode()
        labels = (
            b"CLIENT_RANDOM",
            b"CLIENT_TRAFFIC_SECRET_0",
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET",
            b"EXPORTER_SECRET",
        )
        lines = [label + b" " + random + b" " + b"ab" * 48 for label in labels]
        return [
            b"\n".join(lines) + b"\n",
            b"# comment\r\n" + lines[0] + b"\r\nnonsense\n\n",
            b"RSA Session-ID:" + b"ab" * 32 + b" Master-Key:" + b"cd" * 48 + b"\n",
            b"A" * 1500,
        ]

    def run(self, data: bytes) -> int:
        """Whole and in pieces."""
        logs = []
        for step in (len(data) or 1, 7, 97):
            log = KeyLog()
            for start in range(0, len(data), step):
                log.feed(data[start : start + step])
            log.close()
            logs.append((len(log), log.bad_lines, log.find(bytes(range(32)))))
        demand(logs[0] == logs[1] == logs[2], "pieces")
        return 0


MOST_CHANGED = 60  # pieces of an input that is mutated
SAID = b"question and answer; " * 40


class Tls(Target):
    """TLS connections with their secrets."""

    name = "tls"
    about = "TLS 1.2 and 1.3 with keys: records, handshakes, holes; nothing comes out that was not said"
    modules = ("kdissect.tls",)
    longest = 8000
    seconds_per_mb = 15  # a record that does not open is tried with the numbers around it, up to a bound
    bytes_per_byte = 3000

    def seeds(self) -> list[bytes]:
        """Length of the key log, the key log, then pieces as `talks` has them, an empty one being a hole."""
        folder = Path(__file__).parent.parent / "corpus"
        return [path.read_bytes() for path in sorted(folder.glob("tls-*"))]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Change, drop, double, swap or cut a piece, or make a hole; correct records half the time."""
        size = int.from_bytes(data[:2]) + 2
        pieces = _pieces(data[size:])
        if dice.random() < 0.05 or not pieces:
            return mutate_bytes(data, dice, other)
        at, to = int(dice.random() * len(pieces)), int(dice.random() * len(pieces))
        kind = int(dice.random() * 8)
        side, content = pieces[at]
        if kind == 0:
            del pieces[at]
        elif kind == 1:
            pieces.insert(to, pieces[at])
        elif kind == 2:
            pieces[at], pieces[to] = pieces[to], pieces[at]
        elif kind == 3:
            cut = int(dice.random() * len(content))
            pieces[at : at + 1] = [
                (side, content[:cut]),
                (side | 2, content[cut : cut + 40]),
                (side, content[cut + 40 :]),
            ]
        else:
            content = content[:5] + mutate_bytes(content[5:], dice, other[-200:])
            sized = dice.random() < 0.6 and len(content) >= 5
            pieces[at] = (
                side,
                content[:3] + struct.pack(">H", (len(content) - 5) & 0xFFFF) + content[5:]
                if sized
                else content,
            )
        return data[:size] + b"".join(
            struct.pack(">BH", side, len(one) & 0xFFFF) + one for side, one in pieces
        )

    def grow(self, parts: list[bytes]) -> bytes:
        """Return the key log of the first, what is said in all."""
        size = int.from_bytes(parts[0][:2]) + 2
        return parts[0][:size] + b"".join(part[int.from_bytes(part[:2]) + 2 :] for part in parts)

    def run(self, data: bytes) -> int:
        """Hear it."""
        from tests.tls.listener import Listener, Secrets

        size = int.from_bytes(data[:2]) + 2
        listener = Listener(Secrets(data[2:size], may_grow=bool(len(data) & 1)))
        for side, content in _pieces(data[size:], len(data)):
            if side & 2:
                listener.miss(side & 1, len(content) or 1)
            elif content:
                listener.hear([(side & 1, content)], 1000)
        listener.end()
        for sink in listener.sinks:
            demand(sink.end_kind is not None, "an end")
            # Where encryption never began, plaintext is plaintext: only with keys is there anything to hold.
            for part in sink.parts:
                demand(not isinstance(part, bytes) or part in SAID, "what was never said")
        return 0


def _pieces(data: bytes, most: int = MOST_CHANGED) -> list[tuple[int, bytes]]:
    found = []
    at = 0
    while at + 3 <= len(data) and len(found) < most:
        side, length = struct.unpack_from(">BH", data, at)
        at += 3
        found.append((side & 3, data[at : at + length]))
        at += length
    return found
