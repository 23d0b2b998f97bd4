"""Captures with planted secrets that are damaged, and everything that shows one of them.

A capture is named by a number: the same number makes the same conversation, the same damage, and looks at it
by the same outputs.
"""

import base64
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from kdissect.cli import COMMANDS, main
from kdissect.cli.reference.completion_command import parser_of
from kdissect.decoders.encoder import encode_request, encode_response
from kdissect.model.extras import are_installed
from kdissect.model.packets.packet import Packet
from kdissect.schema.logs import METADATA_MARKS
from tests.support.messages.planted import SASL_AUTHENTICATE, SASL_HANDSHAKE, metadata_batch
from tests.support.messages.traffic import BROKER, CLIENT, Conversation, frame
from tests.support.packets.pcaps import pcap_bytes

Messages = list[tuple[int, bytes]]
"""Frames of one connection with their sizes, by who sends them."""

PASSWORD = b"pLainPw7RxUzQ2"
PROOF = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SALT = b"W22ZaJ0SNY7soEsUEjb6gQ=="
VERIFIER = b"6rriTRBi23WpRmtn7Rq9u2dkqD8a8x1hT0pXq3o5c0E="
JWT = b"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.Zk3vJwQ8TtLmXy0PnC5dHg"
SIGNATURE = b"Zk3vJwQ8TtLmXy0PnC5dHg"
HMAC = b"hM4cT0kenBytesQ9wE1rT"
SALTED = b"sAlt3dPassw0rdJ8kLm2"
CONFIG = b"cOnf1gVaLue5ZbN4v"
OWN = b"oWnMechT0ken6YhB3g"
SECRETS = (PASSWORD, PROOF, SALT, VERIFIER, SIGNATURE, HMAC, SALTED, CONFIG, OWN)
SHORTEST = 8  # bytes of a secret that tell of it

_ME = "svc-app"
_NAMES = (
    "ssl.key.password", "listener.name.a.plain.sasl.jaas.config", "sasl.client.callback.token", "db.pwd",
    "confluent.license", "my.plugin.setting", "rétention.ms",
)  # fmt: skip


def needles(secret: bytes) -> frozenset[bytes]:
    """Return every piece of `SHORTEST` bytes as text, as hex of several kinds, and as base64."""
    found = set()
    for at in range(len(secret) - SHORTEST + 1):
        piece = secret[at : at + SHORTEST]
        found |= {piece, piece.hex().encode(), piece.hex(" ").encode(), piece.hex(":").encode()}
        found.add("".join(f"\\x{octet:02x}" for octet in piece).encode())
        for before in range(3):  # only characters that no byte around the piece can change
            text = base64.b64encode(bytes(before) + piece + bytes(3))
            inner = text[-(-before * 4 // 3) : (before + SHORTEST) * 4 // 3]
            found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    return frozenset(found)


@cache
def _needles_of(name: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return those of the secrets of a conversation."""
    wire = b"".join(data for _, data in dict(message_lists())[name])
    return tuple((needle, secret) for secret in SECRETS if secret in wire for needle in needles(secret))


def shown(out: bytes, name: str) -> tuple[bytes, bytes] | None:
    """Return the first secret of a conversation that is in `out`, with the text around it."""
    for needle, secret in _needles_of(name):
        at = out.find(needle)
        if at >= 0:
            return secret, out[max(at - 200, 0) : at + 80]
    return None


# Conversations


def message_lists() -> tuple[tuple[str, Messages], ...]:
    """Return one for each place where a secret stands, by name."""
    return _message_lists()


@cache
def _message_lists() -> tuple[tuple[str, Messages], ...]:
    return tuple(_make())


def _make() -> Iterator[tuple[str, Messages]]:
    for mechanism, *tokens in _tokens():
        yield f"raw {mechanism}", _raw(mechanism, tokens)
        for version in (0, 1, 2):
            yield f"{mechanism} v{version}", _authenticate(mechanism, version, tokens)
    scram = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": SALTED, "salted_password": SALTED}
    yield "SCRAM credentials", _talk((51, 0, {"deletions": [], "upsertions": [scram]}, {"results": []}))
    for version in (1, 2, 3):
        yield (
            f"token made v{version}",
            _talk((38, version, {"renewers": []}, {"hmac": HMAC, "token_id": "tid"})),
        )
        token = {"token_id": "tid", "hmac": HMAC, "renewers": []}
        yield f"token told v{version}", _talk((41, version, {"owners": None}, {"tokens": [token]}))
    for version in (1, 2):
        yield f"token renewed v{version}", _talk((39, version, {"hmac": HMAC}, {}))
        yield f"token expired v{version}", _talk((40, version, {"hmac": HMAC}, {}))
    yield from _configs()


def _configs() -> Iterator[tuple[str, Messages]]:
    value = CONFIG.decode()
    for number, name in enumerate(_NAMES):
        configs = [{"name": "retention.ms", "value": "1000"}, {"name": name, "value": value}]
        asked = {"resources": [{"resource_type": 4, "resource_name": "1", "configs": configs}]}
        yield f"altered {name}", _talk((33, number % 3, asked, {}))
        yield f"changed {name}", _talk((44, number % 2, asked, {}))
        topic = {"name": "orders", "assignments": [], "configs": configs}
        version = (1, 4, 5, 7)[number % 4]
        told = {"topics": [topic if version >= 5 else {"name": "orders"}]}
        yield f"created {name}", _talk((19, version, {"topics": [topic]}, told))
        synonyms = [{"name": name, "value": value, "source": 1}] if number % 5 else []
        configs[1]["synonyms"] = synonyms  # type: ignore[assignment]
        told = {"results": [{"resource_type": 4, "resource_name": "1", "configs": configs}]}
        yield f"described {name}", _talk((32, number % 5, {"resources": []}, told))
        inner = encode_request(44, 1, 9, "inner", asked)[4:]
        yield (
            f"forwarded {name}",
            _talk((58, 0, {"request_data": inner}, {"response_data": b"\0" * 8 + CONFIG})),
        )
        yield f"logged {name}", _talk((1, 13, *metadata_batch(list(_records(name)))))


def _records(name: str) -> Iterator[bytes]:
    """ConfigRecord, UserScramCredentialRecord, DelegationTokenRecord."""

    def text(value: bytes) -> bytes:
        return bytes([len(value) + 1]) + value

    yield b"\1\4\0" + struct.pack(">b", 4) + text(b"1") + text(name.encode()) + text(CONFIG) + b"\0"
    yield (
        b"\1\x0b\0"
        + text(b"alice")
        + b"\1"
        + text(SALTED)
        + text(SALTED)
        + text(SALTED)
        + struct.pack(">i", 4096)
        + b"\0"
    )


def _tokens() -> Iterator[tuple[Any, ...]]:
    yield "PLAIN", (b"\0alice\0" + PASSWORD, b"")
    nonce = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j"
    first = b"n,,n=alice,r=fyko+d2lbbFgONRv9qkxdawL"
    final = b"c=biws," + nonce + b",p=" + PROOF
    yield "SCRAM-SHA-256", (first, nonce + b",s=" + SALT + b",i=4096"), (final, b"v=" + VERIFIER)
    yield "OAUTHBEARER", (b"n,,\1auth=Bearer " + JWT + b"\1\1", b"")
    yield "MY-OWN", (OWN, OWN[::-1] + OWN)


def _hello() -> Messages:
    software = {"client_software_name": "apache-kafka-java", "client_software_version": "4.4.0"}
    keys = {"api_keys": [{"api_key": key, "min_version": 0, "max_version": 9} for key in (3, 17, 36)]}
    return [(CLIENT, encode_request(18, 3, 1, _ME, software)), (BROKER, encode_response(18, 3, 1, keys))]


def _metadata(number: int) -> Messages:
    asked = {"topics": [{"name": "orders"}]}
    told = {
        "brokers": [{"node_id": 1, "host": "b1", "port": 9092}],
        "topics": [{"name": "orders", "partitions": []}],
    }
    return [(CLIENT, encode_request(3, 9, number, _ME, asked)), (BROKER, encode_response(3, 9, number, told))]


def _talk(*parts: tuple[int, int, dict[str, Any], dict[str, Any]]) -> Messages:
    made = _hello()
    for number, (key, version, asked, told) in enumerate(parts, 2):
        made.append((CLIENT, encode_request(key, version, number, _ME, asked)))
        made.append((BROKER, encode_response(key, version, number, told)))
    return made + _metadata(50)


def _authenticate(mechanism: str, version: int, tokens: list[tuple[bytes, bytes]]) -> Messages:
    handshake = (SASL_HANDSHAKE, 1, {"mechanism": mechanism}, {"mechanisms": [mechanism]})
    parts = [(SASL_AUTHENTICATE, version, {"auth_bytes": a}, {"auth_bytes": b}) for a, b in tokens]
    return _talk(handshake, *parts)


def _raw(mechanism: str, tokens: list[tuple[bytes, bytes]]) -> Messages:
    made = _talk((SASL_HANDSHAKE, 0, {"mechanism": mechanism}, {"mechanisms": [mechanism]}))[:-2]
    for asked, told in tokens:
        made += [(CLIENT, frame(asked)), (BROKER, frame(told))]
    return made + _metadata(50)


# Damage


def damaged(messages: Messages, dice: Random) -> bytes:
    """Return a pcap of the conversation with one to three faults in it.

    Without SASL API key and version of requests stay: a request that becomes another one is that one, and
    nothing is near that would tell.
    """
    pieces = [(side, bytearray(data)) for side, data in messages]
    after: list[Callable[[list[Packet], Random], None]] = []
    for _ in range(dice.choice((1, 1, 1, 2, 2, 3))):
        kind = dice.choice(_FAULTS)
        if kind in (_lose, _snap, _swap):
            after.append(kind)
        else:
            before = [bytes(data[_HEAD]) for _, data in pieces]
            kind(pieces, dice)
            if not _has_sasl(messages):
                for (side, data), head in zip(pieces, before, strict=True):
                    if side == CLIENT and len(data) > _HEAD.stop:
                        data[_HEAD] = head
    talk = Conversation()
    if dice.random() < 0.9:
        talk.handshake()
    mss = dice.choice((1460, 1460, 64, 23))
    for side, data in pieces:
        (talk.client if side == CLIENT else talk.broker)(bytes(data), mss)
    if dice.random() < 0.5:
        talk.fin(CLIENT)
    for fault in after:
        fault(talk.packets, dice)
    data = pcap_bytes(talk.packets)
    return data[: dice.randrange(24, len(data))] if dice.random() < 0.03 else data


_HEAD = slice(4, 8)  # of a request behind its size: API key and version


def _has_sasl(messages: Messages) -> bool:
    return any(int.from_bytes(data[4:6]) == SASL_HANDSHAKE for side, data in messages if side == CLIENT)


Pieces = list[tuple[int, bytearray]]


def _place(pieces: Pieces, dice: Random) -> tuple[bytearray, int]:
    """Return a frame, most often one with a secret, and a place in it, most often before or in the secret."""
    holders = [data for _, data in pieces if any(secret in data for secret in SECRETS)]
    data = dice.choice(holders) if holders and dice.random() < 0.9 else dice.choice(pieces)[1]
    starts = [data.find(secret) for secret in SECRETS if secret in data]
    if starts and dice.random() < 0.7:
        start = dice.choice(starts)
        return data, min(max(start + dice.randint(-40, 30), 0), max(len(data) - 1, 0))
    return data, dice.randrange(max(len(data), 1))


def _flip(pieces: Pieces, dice: Random) -> None:
    data, at = _place(pieces, dice)
    if data:
        old = data[at]
        data[at] = dice.choice(
            (old ^ 1 << dice.randrange(8), dice.randrange(256), 0, 255, old + 1 & 255, old - 1 & 255)
        )


def _length(pieces: Pieces, dice: Random) -> None:
    """Change a number of one, two or four bytes."""
    data, at = _place(pieces, dice)
    width = dice.choice((1, 2, 4))
    left = len(data) - at
    value = dice.choice(
        (0, -1, left, left - width, left - 1, left + 1, dice.randrange(100), dice.randrange(-9, 9))
    )
    if left >= width:
        data[at : at + width] = (value & (1 << 8 * width) - 1).to_bytes(width)


def _cut_out(pieces: Pieces, dice: Random) -> None:
    data, at = _place(pieces, dice)
    del data[at : at + dice.randint(1, 12)]
    _resize(data, dice)


def _put_in(pieces: Pieces, dice: Random) -> None:
    data, at = _place(pieces, dice)
    data[at:at] = dice.randbytes(dice.randint(1, 12))
    _resize(data, dice)


def _shorten(pieces: Pieces, dice: Random) -> None:
    data, at = _place(pieces, dice)
    del data[at:]
    _resize(data, dice)


def _double(pieces: Pieces, dice: Random) -> None:
    """Repeat a piece of a frame."""
    data, at = _place(pieces, dice)
    data[at:at] = data[max(at - dice.randint(1, 30), 0) : at]
    _resize(data, dice)


def _resize(data: bytearray, dice: Random) -> None:
    """Correct the size of a frame, or leave it wrong."""
    if len(data) > 4 and dice.random() < 0.6:
        data[:4] = (len(data) - 4).to_bytes(4)


def _lose(packets: list[Packet], dice: Random) -> None:
    for _ in range(dice.randint(1, 2)):
        if len(packets) > 1:
            del packets[dice.randrange(len(packets))]


def _snap(packets: list[Packet], dice: Random) -> None:
    """Cut the end of one packet or of all packets, as a snap length does."""
    snap = dice.randint(54, 160)
    at = dice.randrange(len(packets))
    for index in range(len(packets)) if dice.random() < 0.3 else (at,):
        packets[index] = packets[index]._replace(data=packets[index].data[:snap])


def _swap(packets: list[Packet], dice: Random) -> None:
    at = dice.randrange(len(packets))
    packets.insert(dice.randrange(len(packets)), packets.pop(at))


_FAULTS: tuple[Any, ...] = (
    _flip, _flip, _flip, _flip, _length, _length, _length, _cut_out, _put_in, _shorten, _double, _lose,
    _snap, _swap,
)  # fmt: skip


# Outputs


class Look(NamedTuple):
    """One way to look at a capture; `look(path, folder)` gives all that it shows."""

    name: str
    look: Callable[[str, Path], bytes]


def looks() -> tuple[tuple[Look, ...], tuple[Look, ...]]:
    """Return those that show contents, and all others."""
    return _looks()


@cache
def _looks() -> tuple[tuple[Look, ...], tuple[Look, ...]]:
    deep = [
        _command("inspect", "--format", "tree"),
        _command("inspect", "--format", "tree", "--records"),
        _command("inspect", "--format", "jsonl", "--bodies"),
        _command("inspect", "--format", "jsonl", "--bodies", "--records"),
        _command("inspect", "--format", "tsv", "--bodies"),
        _command("inspect", "--format", "csv", "--bodies"),
        _command("inspect", "--format", "table", "-e", "request.body,response.body"),
        Look("tui fields and bytes", _screen),
        Look("tui copies", _copies),
        Look("decode", _decoded),
        Look("check --evidence", _evidence),
        *(Look(f"extract --redact={level}", _redacted(level)) for level in ("secrets", "payload", "names")),
        Look("python values", _values),
    ]
    rest = [
        _command(name, "--format", form, *_MORE.get(name, ()))
        for name in COMMANDS
        if name not in _ELSEWHERE
        for form in parser_of(name)._option_string_actions["--format"].choices or ()
        if form != "parquet"
    ]
    rest += [_command("traces")] if are_installed("opentelemetry.sdk") else []
    rest += [_command("report"), Look("tables", _tables), Look("records --format parquet", _parquet)]
    return tuple(deep), tuple(rest)


_ELSEWHERE = {
    "tui", "live", "tap", "extract", "record", "tables", "pipeline", "segments", "rules", "fields", "limits",
    "decode", "schema", "wireshark-plugin", "completion", "conform", "report", "mcp", "traces",
}  # fmt: skip
_MORE: dict[str, tuple[str, ...]] = {
    "info": ("--records",),
    "upgrade": ("--target", "4.0"),
    "topics": ("--sizes",),
}


def _command(name: str, *more: str) -> Look:
    return Look(" ".join((name, *more)), lambda path, _: printed(name, path, *more))


def printed(*arguments: str) -> bytes:
    """Return what a command prints, errors too."""
    kept = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as file:
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            for number, old in enumerate(kept, 1):
                os.dup2(old, number)
                os.close(old)
        file.seek(0)
        return file.read()


def _files(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def _evidence(path: str, folder: Path) -> bytes:
    return printed("check", path, "--evidence", str(folder / "evidence")) + _files(folder / "evidence")


def _redacted(level: str) -> Callable[[str, Path], bytes]:
    def look(path: str, folder: Path) -> bytes:
        out = printed("extract", f"--redact={level}", "-o", str(folder / "out.pcapng"), path)
        return out + _payloads(folder / "out.pcapng")

    return look


def _payloads(path: Path) -> bytes:
    """Return the bytes of a capture, and again as the streams they make, without headers between them."""
    from kdissect.api import Dissection

    if not path.exists():
        return b""
    frames = [f.data for e in Dissection(str(path)) for f in (e.request, e.response) if f is not None]
    return path.read_bytes() + b"\n" + b"\n".join(map(bytes, frames))


def _tables(path: str, folder: Path) -> bytes:
    from pyarrow import dataset

    from kdissect.engine.tables.all_tables import TABLES

    reports = [
        word for name in ("html", "json", "stats") for word in ("--report", f"{name}={folder / name}.report")
    ]
    out = printed("tables", path, "--output", str(folder / "tables"), "--tables", ",".join(TABLES), *reports)
    for name in TABLES:
        if (folder / "tables" / name).exists():
            out += _rows(dataset.dataset(folder / "tables" / name, format="parquet").to_table())
    return out + _files(folder)


def _parquet(path: str, folder: Path) -> bytes:
    from pyarrow import parquet

    out = printed("records", path, "--format", "parquet", "-o", str(folder / "r.parquet"))
    if (folder / "r.parquet").exists():
        out += _rows(parquet.read_table(folder / "r.parquet"))
    return out


def _rows(table: Any) -> bytes:
    """Return what a table holds; times as numbers, as those of damaged records are none that Python has."""
    from pyarrow import types

    columns = zip(table.column_names, table.columns, strict=True)
    held = {name: col.cast("int64") if types.is_timestamp(col.type) else col for name, col in columns}
    return repr({name: col.to_pylist() for name, col in held.items()}).encode()


def _screen(path: str, _: Path) -> bytes:
    from tests.support.on_screen import on_screen

    return on_screen(path, show_secrets=False)


def _copies(path: str, _: Path) -> bytes:
    from kdissect.api import Dissection
    from tests.tui.exchanges.test_copies import Names, _all_copies, _topic_name

    dissection = Dissection(path)
    names = Names(dissection.file_names, dissection.topics.topics_of, _topic_name(dissection))
    return "\n".join(
        text for number, e in enumerate(dissection) for text in _all_copies(e, number, names)
    ).encode("utf-8", "replace")


def _decoded(path: str, _: Path) -> bytes:
    """Return each frame by itself, as `kdissect decode` of a hex dump."""
    from kdissect.api import Dissection

    out = b""
    for e in Dissection(path):
        if e.request is None or e.api_key is None or e.api_version is None:
            continue  # what an answer answers would be a guess
        if e.is_of_metadata and not all(
            f is None or any(mark in f.data for mark in METADATA_MARKS) for f in (e.request, e.response)
        ):
            continue  # a frame that does not name the log is of any topic, by itself
        answer = ("--response", "--api", str(e.api_key), "--api-version", str(e.api_version))
        for data, options in ((e.request, ()), (e.response, answer)):
            if data is not None and data.data:
                for form in ("tree", "json"):
                    out += printed("decode", bytes(data.data).hex(), "--records", "--format", form, *options)
    return out


def _values(path: str, _: Path) -> bytes:
    """Return what Python prints of the values, and of the errors."""
    from kdissect.api import Dissection
    from kdissect.model.errors import DecodeError

    out = []
    for e in Dissection(path):
        out += [repr(e), repr(e.connection.principal), *map(repr, e.all_anomalies())]
        for body in (e.request_body, e.response_body):
            try:
                body()
            except DecodeError as error:
                out += [str(error), repr(error)]
    return "\n".join(out).encode()


# All together


class Leak(NamedTuple):
    """A secret that was shown."""

    number: int
    messages: str
    look: str
    secret: bytes
    around: bytes


def chosen(number: int) -> tuple[str, Messages, Random, list[Look]]:
    """Return the conversation of a number, its dice, and the looks at it: one of each kind, in turns."""
    name, messages = message_lists()[number % len(message_lists())]
    turn = number // len(message_lists()) + number
    return name, messages, Random(number), [kind[turn % len(kind)] for kind in looks()]


def hunt(number: int, folder: Path, everything: bool = False) -> Iterator[Leak]:
    """Make one damaged capture and look at it, by every look or by those whose turn it is."""
    name, messages, dice, taken = chosen(number)
    path = folder / "damaged.pcap"
    path.write_bytes(damaged(messages, dice))
    for look in [*looks()[0], *looks()[1]] if everything else taken:
        inner = folder / "out"
        inner.mkdir()
        try:
            found = shown(look.look(str(path), inner), name)
        finally:
            shutil.rmtree(inner)
        if found is not None:
            yield Leak(number, name, look.name, *found)
