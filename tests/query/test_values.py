"""Values as filters write them: what each form stands for, and the nearest form that is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kdissect.model.endpoint import Endpoint
from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.addresses import ADDRESS
from kdissect.query.values.patterns import LOOKED_AT, searcher
from kdissect.query.values.points_in_time import TIME_MS, TIME_NS, Moment
from kdissect.query.values.units import LATENCY, MILLISECONDS, NANOSECONDS, SIZE
from kdissect.query.values.value_kinds import BYTES, FLAG, HEX, NUMBER, REAL, UUID

S = 10**9
DAY = 86_400 * S
TIME = TIME_NS
ID = bytes(range(16))
AT = int(datetime(2024, 5, 1, 10, tzinfo=UTC).timestamp()) * S


def parsed(kind: Any, text: str, is_text: bool = False) -> Any:
    return kind.parse(Literal(text, is_text, 0, len(text)))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NUMBER, "0", 0), (NUMBER, "-1", -1), (NUMBER, "0xff", 255), (NUMBER, "1_000", 1000),
        (NUMBER, "007", 7), (NUMBER, "9" * 40, int("9" * 40)),
        (REAL, "0.5", 0.5), (REAL, "-1e6", -1e6), (REAL, "0." + "0" * 50 + "1", 1e-51),
        (FLAG, "TRUE", True), (FLAG, "1", True), (FLAG, "false", False), (FLAG, "0", False),
        (BYTES, "0xCAfe", b"\xca\xfe"), (BYTES, "0x", b""), (BYTES, "0Xff", b"\xff"),
        (BYTES, "ü", "ü".encode()),
        (HEX, "CAfe", b"\xca\xfe"), (HEX, "0xcafe", b"\xca\xfe"), (HEX, "ca fe", b"\xca\xfe"),
        (UUID, "AAECAwQFBgcICQoLDA0ODw", ID), (UUID, "00010203-0405-0607-0809-0a0b0c0d0e0f", ID),
        (UUID, "-_" * 11, None),
        (LATENCY, "0", 0), (LATENCY, "50ms", 50 * 10**6), (LATENCY, "1.5s", 1_500_000_000),
        (LATENCY, "-2us", -2000), (LATENCY, "2m", 120 * S), (LATENCY, "2min", 120 * S),
        (LATENCY, "1h", 3600 * S), (LATENCY, "1d", DAY), (LATENCY, "1_0ns", 10), (LATENCY, "0.5ns", 0.5),
        (NANOSECONDS, "7", 7), (NANOSECONDS, "7ns", 7), (MILLISECONDS, "7", 7), (MILLISECONDS, "7ms", 7),
        (MILLISECONDS, "1s", 1000),
        (MILLISECONDS, "1500us", 1.5),
        (SIZE, "1500", 1500), (SIZE, "10kB", 10_000), (SIZE, "1MB", 10**6), (SIZE, "1GB", S),
        (SIZE, "1TB", 10**12), (SIZE, "1KiB", 1024), (SIZE, "1mib", 2**20), (SIZE, "1GiB", 2**30),
        (SIZE, "1TiB", 2**40), (SIZE, "+3b", 3), (SIZE, "0.5kB", 500),
        (TIME, "5", Moment(5)), (TIME_MS, "5", Moment(5 * 10**6)), (TIME, "+5s", Moment(5 * S, "start")),
        (TIME, "+1.000000001s", Moment(S + 1, "start")), (TIME, "+1.5ms", Moment(1_500_000, "start")),
        (TIME, "+2min", Moment(120 * S, "start")), (TIME, "+00:01:30", Moment(90 * S, "start")),
        (TIME, "10:00:05", Moment(36_005 * S, "day")), (TIME, "10:01", Moment(36_060 * S, "day")),
        (TIME, "00:00:00.5", Moment(S // 2, "day")),
        (TIME, "2024-05-01T10:00:00Z", Moment(AT)), (TIME, "2024-05-01 10:00", Moment(AT)),
        (TIME, "2024-05-01t12:00:00.25+02:00", Moment(AT + S // 4)),
        (TIME, "2024-05-01", Moment(AT - 10 * 3600 * S)),
        (TIME, "1969-12-31T23:59:59Z", Moment(-S)),
    ],
)  # fmt: skip
def test_what_a_value_stands_for(kind: Any, text: str, value: Any) -> None:
    found = parsed(kind, text)
    if value is None:
        assert len(found) == 16
    else:
        assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (NUMBER, "9" * 41, "is no whole number"), (NUMBER, "1.5", "is no whole number"),
        (REAL, "x", "is no number"), (FLAG, "2", "is neither true nor false"),
        (BYTES, "0xf", "is no hex"), (HEX, "caf", "is no hex"), (HEX, "orders", "is no hex"),
        (UUID, "AAECAwQFBgcICQoLDA0OD", "is no 22-character id"),
        (UUID, "AAECAwQFBgcICQoLDA0ODw==", "is no 22-character id"),
        (UUID, "0001020304-05-0607-0809-0a0b0c0d0e0f", None),
        (UUID, "0" * 36, "is no 22-character id"),
        (LATENCY, "5", "needs a unit"), (LATENCY, "5x", "no unit 'x'"), (LATENCY, "s", "is no duration"),
        (LATENCY, "1.s", "is no duration"), (SIZE, "5ms", "no unit 'ms'"), (SIZE, "1.5", "is no size"),
        (TIME, "+5", "is no time"), (TIME, "soon", "is no time"), (TIME, "1:2", "is no time"),
        (TIME, "2024-13-01", "is no time: "), (TIME, "2024-05-01T25:00Z", "is no time: "),
    ],
)  # fmt: skip
def test_what_is_refused(kind: Any, text: str, said: str | None) -> None:
    if said is None:
        assert parsed(kind, text) == ID  # hyphens may stand elsewhere
        return
    with pytest.raises(ValueError, match=said):
        parsed(kind, text)


@pytest.mark.parametrize(
    ("kind", "moment", "start_ns", "bound"),
    [
        (TIME, Moment(5), 7, 5),
        (TIME, Moment(5, "start"), 7, 12),
        (TIME, Moment(5, "day"), 3 * DAY + 7, 3 * DAY + 5),
        (TIME, Moment(5, "day"), 3 * DAY, 3 * DAY + 5),
        (TIME_MS, Moment(2_000_000), 0, 2),
        (TIME_MS, Moment(2_500_000), 0, 2.5),
    ],
)
def test_moments_once_the_first_packet_is_known(
    kind: Any, moment: Moment, start_ns: int, bound: float
) -> None:
    found = kind.bind(moment, lambda: start_ns)
    assert (found, type(found)) == (bound, type(bound))


def test_a_date_needs_no_first_packet() -> None:
    def unknown() -> int:
        raise AssertionError

    assert TIME.bind(Moment(5), unknown) == 5


@pytest.mark.parametrize(
    ("text", "host", "port", "is_meant"),
    [
        ("10.0.0.1", "10.0.0.1", 9092, True), ("10.0.0.1", "10.0.0.2", 9092, False),
        ("10.0.0.1:9092", "10.0.0.1", 9092, True), ("10.0.0.1:9092", "10.0.0.1", 9093, False),
        ("10.0.0.1:65535", "10.0.0.1", 65535, True), ("10.0.0.7/8", "10.255.0.1", 1, True),
        ("10.0.0.0/8", "11.0.0.1", 1, False), ("0.0.0.0/0", "::1", 1, False),
        ("0.0.0.0/0", "a host", 1, False),
        ("[::1]:9092", "::1", 9092, True), ("[::1]:9092", "::1", 1, False), ("[::1]", "::1", 1, True),
        ("::1", "::1", 1, True), ("fe80::/16", "fe80::1", 1, True),
    ],
)  # fmt: skip
def test_addresses(text: str, host: str, port: int, is_meant: bool) -> None:
    value = parsed(ADDRESS, text)
    assert ADDRESS.equals(value)(Endpoint(host, port)) is is_meant
    assert ADDRESS.one_of([value, parsed(ADDRESS, "192.0.2.1")])(Endpoint(host, port)) is is_meant
    without_port = text.rpartition(":9092")[0] or text
    if port == 9092 and without_port != text:
        assert ADDRESS.equals(parsed(ADDRESS, without_port))(host) is True


@pytest.mark.parametrize(
    "text",
    ["x", "10.0.0.1:65536", "10.0.0.1:", "10.0.0.1:-1", "10.0.0.1:000001", "[::1]9092x", "10.0.0.0/33"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="is no address"):
        parsed(ADDRESS, text)


@pytest.mark.parametrize(
    ("pattern", "looked_at"),
    [
        ("^x", LOOKED_AT[0]), ("x", LOOKED_AT[1]), ("^a*x", LOOKED_AT[1]), ("a*x", LOOKED_AT[2]),
        ("a*b*x", LOOKED_AT[3]), ("a*b*c*x", LOOKED_AT[4]), (".*x.*", LOOKED_AT[1]), (r"\Ax", LOOKED_AT[0]),
        ("a{0,16}x", LOOKED_AT[1]), ("a{0,17}x", LOOKED_AT[2]),
        ("(?=a*)x", LOOKED_AT[2]),
        (".*?x", LOOKED_AT[2]),
        ("(a*)x", LOOKED_AT[2]), ("(?>a*)x", LOOKED_AT[2]), ("a{3}x", LOOKED_AT[1]),
    ],
)  # fmt: skip
def test_so_many_characters_are_looked_at(pattern: str, looked_at: int) -> None:
    search = searcher(pattern)
    if pattern.startswith(("^x", r"\A")):
        assert search("x" + " " * looked_at)
        return
    tail = "aaax" if "{3}" in pattern else "x"
    fill = "a" if pattern.startswith("^") else " "
    assert search(fill * (looked_at - len(tail)) + tail)
    assert not search(fill * (looked_at - len(tail) + 1) + tail)


TEN = "aa|bb|cc|dd|ee|ff|gg|hh|ii|jj"


@pytest.mark.parametrize(
    ("pattern", "is_allowed"),
    [
        ("a{0,9}b{0,9}c{0,9}", True), ("a{0,9}b{0,9}c{0,10}", False), ("a{1,10}b{2,11}c{3,12}", True),
        (f"a{{0,9}}b{{0,9}}(?:{TEN})", True), (f"a{{0,9}}b{{0,9}}(?:{TEN}|kk)", False),
        (f"a{{0,9}}(?:{TEN}|c{{0,9}})x{{5}}", False),
    ],
)  # fmt: skip
def test_a_thousand_ways(pattern: str, is_allowed: bool) -> None:
    """docs/limits.md: `pattern-ways`."""
    if is_allowed:
        assert searcher(pattern)("aaabbbcccccc") is True
        return
    with pytest.raises(ValueError, match="too many optional parts and alternatives"):
        searcher(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "is_found"),
    [(".*?b", "ab", True), (".*+b?", "ab", True), (r"x\.*", "x", True), (r"x\.*y", "x..z", False)],
)
def test_what_stands_at_the_ends_is_dropped_where_it_changes_nothing(
    pattern: str, text: str, is_found: bool
) -> None:
    assert searcher(pattern)(text) is is_found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("a*b*c*d*", "has 4 repetitions"), ("^a*b*c*d*e*", "has 5 repetitions"),
        ("(a*)*", "inside a repetition"), ("(a?)*", "inside a repetition"),
        ("(ab|cd)*", "alternatives inside"),
        (r"(a)\1", "references"), ("[", "no regular expression"), ("(?=a*)*", "repetition"),
    ],
)  # fmt: skip
def test_patterns_that_are_refused(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        searcher(pattern)
