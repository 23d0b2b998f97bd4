"""Lines of request logs by the native engine and by Python: equal packets, or left to Python."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kdissect.capture.formats.request_log import RequestLogParser
from kdissect.model.packets.commented import taken_apart
from kdissect.model.packets.logged import Logged
from kdissect.schema.protocol_messages import all_apis
from kdissect.schema.types import Array, Message, Primitive, Struct, Type
from tests.support.console import CAPTURES

LOGS = sorted([*CAPTURES.glob("*.requests.log.gz"), *CAPTURES.glob("logged/recorded/*.log.gz")])
MARKER = b"Completed request:"
OF_EACH = 3  # lines of a kind and version

PREFIXES = (
    "[2026-11-28 00:46:11,461] DEBUG ", "2026-11-28T00:46:11.461123Z b ", "2026-02-30 23:59:60 ",
    "[2026-11-28 00:46:11,461+02:00] ", "[2026-11-28 00:46:11.4-0130] ",
    "2026-11-28 00:46:11,4611234567890 ", "0000-01-01 00:00:00 ", "9999-12-31 23:59:59,999 ",
    "2026-13-01 00:00:00 ", "2026-11-28 00:46:11+1 ",
    "2025-01-01 00:00:00 seen 2026-11-28 00:46:11,461 ", "2026-11-28 00:46:115 ", "", "2026-11-28 24:00:00 ",
    "x" * 300 + "1969-12-31 23:59:59,9 ",
    "2026-11-28 00:46:11,461 " + "x" * 300, "2026-11-28 00:46:11+01005 ",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 1, 127, 128, -129, 32768, 65535, 65536, 1 << 31, 1 << 32, 1 << 63, -(1 << 63),
    1 << 64, 0.5, 1e300, -0.0, float("nan"), "", "x", "é", "\ud800", "x" * 40_000, "AAAA", "AAA=", "AA==",
    "A===", "=AAA", "AA=A", "AAAAA", "A" * 22, "A" * 20 + "+/", "A" * 20 + "-_", "A" * 21, "A" * 23, [],
    [None], {}, {"x": 1}, ["a"], [1], "User:a\\\"b", "1.2.3.4:1-5.6.7.8:9-0", "[::1]:1-[::2]:9-0",
    "1.2.3.4:1",
)  # fmt: skip


def rows() -> Iterator[dict[str, Any]]:
    """Yield the JSON of all logs, a few lines of each version of a request."""
    seen: dict[tuple[int, int], int] = {}
    for path in LOGS:
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            _, _, text = line.partition(MARKER.decode())
            if text.startswith("{"):
                row, _ = json.JSONDecoder().raw_decode(text)
                kind = row["requestHeader"]["requestApiKey"], row["requestHeader"]["requestApiVersion"]
                seen[kind] = seen.get(kind, 0) + 1
                if seen[kind] <= OF_EACH:
                    yield row


def line_of(row: Any, prefix: str = PREFIXES[0], is_ascii: bool = False) -> bytes:
    text = json.dumps(row, separators=(",", ":"), ensure_ascii=is_ascii)
    return prefix.encode() + MARKER + text.encode("utf-8", "surrogatepass") + b" (kafka.request.logger)\n"


class Read:
    """What a parser makes of lines, and how many of them Python read."""

    def __init__(self, lines: bytes, *, is_native: bool) -> None:
        parser = RequestLogParser()
        if not is_native:
            parser._line_packets = None
        block, self.by_python = parser.feed_block(lines), 0
        if is_native and parser._line_packets is not None and lines.count(b"\n") == 1:
            self.by_python = 1 - parser._line_packets.take(lines, 0, 1)[4]
        packets = []
        for ref, time_ns, link_type, data, wire in block:
            parts = taken_apart(link_type, data)
            packets.append((ref, time_ns, parts.link_type, parts.data, parts.comments(), wire))
        counts = parser.packets, parser.captured_bytes, parser.forwarded, dict(parser.noted), parser._line
        self.found = packets, counts


def compare(line: bytes) -> int:
    """Return whether the native engine read a line, which is equal for both."""
    native = Read(line, is_native=True)
    assert native.found == Read(line, is_native=False).found, line
    return 1 - native.by_python


def test_each_line_is_equal(native: Any) -> None:
    lines = [line_of(row, is_ascii=bool(number % 2)) for number, row in enumerate(rows())]
    assert sum(map(compare, lines)) > 0.9 * len(lines) > 100
    whole = b"".join(lines)
    assert Read(whole, is_native=True).found == Read(whole, is_native=False).found


FILLED: dict[Primitive, Any] = {
    Primitive.BOOL: True, Primitive.FLOAT64: 0.5, Primitive.STRING: "text", Primitive.BYTES: "AAAA",
    Primitive.UUID: "A" * 22,
}  # fmt: skip


def filled(of: Type, version: int) -> Any:
    """Return a value as a log has it, with a value in every field."""
    if isinstance(of, Array):
        return [filled(of.element, version)] * 2
    if not isinstance(of, Struct):
        return FILLED.get(of, 1)
    made = {}
    for field in of.fields:
        name = field.official_name[:1].lower() + field.official_name[1:]
        if version not in field.versions:
            continue
        if field.type is Primitive.RECORDS:
            made[f"{name}SizeInBytes"] = 9
        else:
            made[name] = filled(field.type, version)
    return made


def test_each_version_of_each_message_is_equal(native: Any) -> None:
    (row, *_), kinds, by_native = rows(), 0, 0
    for api in all_apis():
        for version in range(api.versions.first, api.versions.last + 1):
            header = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": 7}
            messages: dict[str, Message] = {"request": api.request, "response": api.response}
            bodies = {side: filled(message.root, version) for side, message in messages.items()}
            by_native += compare(line_of(row | {"requestHeader": header | {"clientId": "x"}} | bodies))
            kinds += 1
    assert by_native > 0.98 * kinds > 300


def test_a_request_header_without_a_client_id(native: Any) -> None:
    """Only ControlledShutdown v0 has none."""
    row = next(rows())
    for key, version, expected in ((7, 0, 1), (7, 1, 0)):
        header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 7}
        bodies = {"request": {"brokerId": 1}, "response": {"errorCode": 0, "remainingPartitions": []}}
        line = line_of(row | {"requestHeader": header} | bodies)
        assert compare(line) == expected
        assert len(Read(line, is_native=True).found[0]) == 2 * expected


def test_lines_in_pieces_are_equal(native: Any) -> None:
    """A chunk of a file begins and ends inside lines."""
    whole, found = b"".join(line_of(row) for row in list(rows())[:20]), []
    for is_native in (True, False):
        parser = RequestLogParser()
        if not is_native:
            parser._line_packets = None
        blocks = [parser.feed_block(whole[at : at + 1000]) for at in range(0, len(whole), 1000)]
        found.append([(*packet[:2], packet[4]) for block in blocks for packet in block])
        logged = [comment for block in blocks for _, _, link, data, _ in block
                  for comment in taken_apart(link, data).comments()]  # fmt: skip
        found[-1] += [Logged.of_comment(comment) for comment in logged]
    assert found[0] == found[1]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_times_are_equal(native: Any, prefix: str) -> None:
    compare(line_of(next(rows()), prefix))


TEXTS = {
    "1e400": 0, "-0": 1, "-0.0": 1, "01": 0, "1.": 0, ".5": 0, "+1": 0, "1e": 0, "1E+2": 1, "NaN": 0,
    "Infinity": 0,
    "9223372036854775808": 0, "123456789012345678901234567890": 1, "2.5e-324": 1, "0.1e1": 1, "1 ": 1,
    r'"\ud800"': 0, r'"\ud83d\ude00"': 1, r'"\u00e9\/\b"': 1, r'"\x"': 0, '"\t"': 0, "tru": 0, "nulll": 0,
    "[" * 60 + "]" * 60: 1, "[" * 500 + "]" * 500: 0, "[1,]": 0, '{"a":1,}': 0,
    '{"a" : [ 1 , 2 ] }': 1, "{1:2}": 0,
}  # fmt: skip
"""Values of JSON, or what is none, and whether the native engine reads a line with it."""


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20])
def test_a_value_is_equal_or_left_to_python(native: Any, text: str) -> None:
    """In a member that is not part of any packet, as a time of the line, and as a second member of a name."""
    row = next(rows())
    unused, time = line_of(row | {"unused": "?"}), line_of(row | {"totalTimeMs": "?"})
    assert compare(unused.replace(b'"?"', text.encode())) == TEXTS[text]
    compare(time.replace(b'"?"', text.encode()))
    twice = line_of(row | {"unused": "?"}).replace(b'"unused":"?"', b'"totalTimeMs":' + text.encode())
    compare(twice)


def test_the_last_member_of_a_name_counts(native: Any) -> None:
    line = line_of(next(rows()) | {"unused": 1}).replace(b'"unused":1', b'"totalTimeMs":7.5')
    assert compare(line) == 1
    times = [packet[1] for packet in Read(line, is_native=True).found[0]]
    assert times[1] - times[0] == 7_500_000


def damaged(item: Any, random: Random) -> Any:
    """Return a copy of a line in which one value, or one name, is another."""
    if isinstance(item, dict) and item and random.random() < 0.9:
        name = random.choice(list(item))
        changed = dict(item)
        turn = random.random()
        if turn < 0.1:
            del changed[name]
        elif turn < 0.2:
            changed[random.choice((name.upper(), f"{name}é", "recordsSizeInBytes", "partition"))] = 1
        else:
            changed[name] = damaged(item[name], random)
        return changed
    if isinstance(item, list) and item and random.random() < 0.8:
        at = random.randrange(len(item))
        return [*item[:at], damaged(item[at], random), *item[at + 1 :]]
    return random.choice(VALUES)


def test_damaged_lines_are_equal_or_left_to_python(native: Any) -> None:
    random, by_native = Random(13), 0
    for row in rows():
        for _ in range(3):
            by_native += compare(line_of(damaged(row, random)))
        line = bytearray(line_of(row))
        line[random.randrange(len(line) - 1)] = random.choice(b'"{}[]:,\\0-.eE+ \xc3\x01nt')
        compare(bytes(line))
    assert by_native > 100
