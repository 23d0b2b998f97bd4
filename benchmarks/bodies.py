"""Body decode of the same frames by kdissect, kafka-python and kio: microseconds a body, for each API.

    python benchmarks/bodies.py captures/*.pcapng captures/*.pcapng.gz

Bodies are those of the captures, at most `SAMPLES` of each message and version. A library is given the bytes
of a body and makes its own objects of it; what it cannot decode is left out for both sides of a ratio. Times
are the least of `ROUNDS`, CPU time. kafka-python and kio come with the `test` extra.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from pkgutil import resolve_name
from typing import Any

import kdissect
from kdissect.decoders.body_schemas import body_message
from kdissect.decoders.generated.compiled import decoder
from kdissect.schema import protocol_messages
from kdissect.schema.types import Message
from kdissect.session.exchange import Exchange

SAMPLES = 20
ROUNDS = 3
LEAST_SECONDS = 0.004  # of one round: below it the clock's grain shows
KAFKA_PYTHON, KIO = "kafka-python", "kio"

Decode = Callable[[bytes], object]
Kind = tuple[Message, int]
"""A message and the version of its body."""


def corpus(paths: Iterable[str]) -> dict[Kind, list[bytes]]:
    """Bodies of the captures by what they are."""
    found: dict[Kind, list[bytes]] = defaultdict(list)
    for exchange in kdissect.open(list(paths)):
        for kind, body in bodies_of(exchange):
            if len(found[kind]) < SAMPLES:
                found[kind].append(body)
    return found


def bodies_of(exchange: Exchange) -> Iterable[tuple[Kind, bytes]]:
    """Yield the bodies of an exchange that fit the schema to their last byte."""
    key = exchange.api_key
    for is_response, decoded in enumerate(exchange.bodies()):
        if key is None or decoded is None or not decoded.fits:
            continue
        frame = exchange.response if is_response else exchange.request
        offset = exchange.response_body_offset if is_response else exchange.request_body_offset
        assert frame is not None
        yield (
            (body_message(key, decoded.version, bool(is_response)), decoded.version),
            frame.data[offset : decoded.end],
        )


def ours(kind: Kind) -> Decode:
    """Our decoder."""
    decode = decoder(*kind)
    return lambda body: decode(body, 0)


def kafka_python(kind: Kind) -> Decode | None:
    """kafka-python's, None where it does not know the message or version."""
    message, version = kind
    with warnings.catch_warnings():
        # The package reads its definitions with a function the standard library deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        for package in ("metadata", "admin", "consumer", "producer", "sasl"):
            importlib.import_module(f"kafka.protocol.{package}")
        from kafka.protocol.api_message import ApiMessage

        for found in ApiMessage.__subclasses__():
            if found.json and found.name == message.name:
                low, high = found.valid_versions
                if low <= version <= high:
                    return lambda body: found.decode(body, version=version)
    return None


def kio(kind: Kind) -> Decode | None:
    """kio's, None where it does not know the message or version."""
    from kio.schema.index import schema_name_map
    from kio.serial import entity_reader

    message, version = kind
    for versions in schema_name_map.values():
        for path in versions.get(version, {}).values():
            entity = resolve_name(path)
            if message_of(entity) is message:
                read = entity_reader(entity)
                return lambda body: read(body, 0)
    return None


def message_of(entity: Any) -> Message | None:
    """Our message for one of kio's classes."""
    if entity.__type__.name == "request":
        return protocol_messages.request_message(int(entity.__api_key__))
    return (
        protocol_messages.response_message(int(entity.__api_key__))
        if entity.__type__.name == "response"
        else None
    )


def seconds(decode: Decode, bodies: list[bytes]) -> float:
    """CPU seconds for all bodies, the least of several rounds, each long enough to be measured."""
    repeats, spent = 1, run(decode, bodies)
    while spent < LEAST_SECONDS:
        repeats *= 2
        spent = run(decode, bodies * repeats)
    return min(run(decode, bodies * repeats) for _ in range(ROUNDS)) / repeats


def run(decode: Decode, bodies: list[bytes]) -> float:
    """CPU seconds for decoding these once."""
    began = time.process_time()
    for body in bodies:
        decode(body)
    return time.process_time() - began


class Row:
    """Seconds for the bodies of one API that both sides can decode, for each library."""

    def __init__(self) -> None:
        self.kinds = self.bodies = 0
        self.seconds = 0.0
        self.against: dict[str, tuple[float, float]] = {}
        """By library: our seconds and theirs."""

    def add(self, library: str, mine: float, theirs: float) -> None:
        """Count one kind of body for a library."""
        before = self.against.get(library, (0.0, 0.0))
        self.against[library] = before[0] + mine, before[1] + theirs

    def ratio(self, library: str) -> float | None:
        """Return how many times as long as we the library takes."""
        mine, theirs = self.against.get(library, (0.0, 0.0))
        return theirs / mine if mine else None


def measure(found: dict[Kind, list[bytes]]) -> dict[str, Row]:
    """Return a row for each API."""
    rows: dict[str, Row] = defaultdict(Row)
    for kind, bodies in found.items():
        key = kind[0].api_key
        row = rows[(protocol_messages.api_name(key) if key is not None else None) or kind[0].name]
        mine = seconds(ours(kind), bodies)
        row.kinds += 1
        row.bodies += len(bodies)
        row.seconds += mine
        for library, find in ((KAFKA_PYTHON, kafka_python), (KIO, kio)):
            theirs = find(kind)
            if theirs is not None and takes(theirs, bodies):
                row.add(library, mine, seconds(theirs, bodies))
    return rows


def takes(decode: Decode, bodies: list[bytes]) -> bool:
    """Return whether a library decodes all of these without an error."""
    try:
        run(decode, bodies)
    except Exception:  # theirs may raise anything
        return False
    return True


def table(rows: dict[str, Row]) -> str:
    """Return the Markdown table, those where we gain least first, with the sums."""
    lines = [
        f"| API | kinds | bodies | us a body | {KAFKA_PYTHON} / kdissect | {KIO} / kdissect |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    total = Row()
    for name, row in sorted(rows.items(), key=lambda item: item[1].ratio(KAFKA_PYTHON) or 1e9):
        lines.append(line(name, row))
        total.kinds += row.kinds
        total.bodies += row.bodies
        total.seconds += row.seconds
        for library, (mine, theirs) in row.against.items():
            total.add(library, mine, theirs)
    lines.append(line("all", total))
    return "\n".join(lines)


def line(name: str, row: Row) -> str:
    """Return one line of the table; `-` where a library knows nothing of the API."""
    ratios = (row.ratio(KAFKA_PYTHON), row.ratio(KIO))
    shown = " | ".join("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
    return f"| {name} | {row.kinds} | {row.bodies} | {row.seconds / row.bodies * 1e6:.2f} | {shown} |"


def main(paths: list[str]) -> int:
    """Measure and print."""
    found = corpus(paths)
    print(table(measure(found)))
    print(f"\nTimes of the least of {ROUNDS} rounds; above 1.00 kdissect takes less.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
