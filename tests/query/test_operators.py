"""Each operator on each kind of value, by exchanges made by hand."""

import pytest

from kdissect.model.endpoint import Endpoint
from kdissect.model.packets.stream import CloseKind
from kdissect.query.predicate import compile_filter
from kdissect.query.values.operators import OPERATORS, by_symbol, usable
from kdissect.query.values.value_kinds import NUMBER, TEXT
from kdissect.session.exchange import ExchangeKind
from kdissect.session.info import Close
from tests.query.exchanges import START, answered, exchange, frame, takes


def test_every_operator_carries_its_help() -> None:
    for operator in OPERATORS:
        assert operator.help
        compile_filter(operator.example)
        assert operator.symbols[0] in operator.example
        for symbol in operator.symbols:
            assert by_symbol(symbol) is operator
    assert {o.symbols[0] for o in usable(NUMBER)} == {"==", "!=", "<", "<=", ">", ">=", "in", "not in"}
    assert {o.symbols[0] for o in usable(TEXT)} == {"==", "!=", "~", "!~", "contains", "in", "not in"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("api_version == 3", [False, True, False, False]),
        ("api_version != 3", [True, False, True, False]),
        ("api_version < 3", [True, False, False, False]),
        ("api_version <= 3", [True, True, False, False]),
        ("api_version > 3", [False, False, True, False]),
        ("api_version >= 0x3", [False, True, True, False]),
        ("api_version in (2, 4)", [True, False, True, False]),
        ("api_version in (3..9)", [False, True, True, False]),
        ("api_version in 2..3", [True, True, False, False]),
        ("api_version not in (2, 3..3)", [False, False, True, False]),
        ("api_version == null", [False, False, False, True]),
        ("api_version != null", [True, True, True, False]),
        ("api_version", [True, True, True, False]),
        ("not api_version > 3", [True, True, False, True]),
        ("all(api_version) == 3", [False, True, False, False]),
        ("any(api_version) != 3", [True, False, True, False]),
        ("count(api_version) == 0", [False, False, False, True]),
    ],
)
def test_numbers(text: str, expected: list[bool]) -> None:
    assert takes(text, *(exchange(api_version=v) for v in (2, 3, 4, None))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency > 50ms", [False, False, True]),
        ("latency >= 50ms", [False, True, True]),
        ("latency == 0.05s", [False, True, False]),
        ("latency < 50000us", [True, False, False]),
        ("latency <= 50_000_000ns", [True, True, False]),
        ("latency > 0", [True, True, True]),
        ("latency_ns > 50000000", [False, False, True]),
        ("latency in (49ms..50ms, 2m)", [True, True, False]),
        ("latency < 1m", [True, True, False]),
        ("latency > 0.001h", [False, False, True]),
    ],
)
def test_durations(text: str, expected: list[bool]) -> None:
    assert takes(text, *(answered(ns) for ns in (49_999_999, 50_000_000, 61 * 10**9))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client == 10.1.2.3", [True, True, False, False, False]),
        ("client == 10.1.2.3:50001", [True, False, False, False, False]),
        ("client != 10.1.2.3", [False, False, True, True, True]),
        ("client in 10.0.0.0/8", [True, True, True, False, False]),
        ("client in (10.1.0.0/16, ::1)", [True, True, False, False, True]),
        ("client not in (10.0.0.0/8, fe80::/10)", [False, False, False, False, True]),
        ("client == [fe80::1]:50001", [False, False, False, True, False]),
        ("client == FE80:0::1", [False, False, False, True, False]),
        ("client in 10.0.0.0/8:50001", [True, False, True, False, False]),
        ("client.ip == 10.2.0.1", [False, False, True, False, False]),
        ("client.port == 50002", [False, True, False, False, False]),
        ("client ~ '^10[.]1'", [True, True, False, False, False]),
        ("client contains fe80", [False, False, False, True, False]),
        ("broker == 10.9.9.9:9092", [True] * 5),
        ("host in 10.9.0.0/16", [True] * 5),
        ("host == ::1", [False, False, False, False, True]),
        ("all(host) in 10.0.0.0/8", [True, True, True, False, False]),
        ("host != 10.9.9.9", [False] * 5),
        ("any(host) != 10.9.9.9", [True] * 5),
    ],
)
def test_addresses(text: str, expected: list[bool]) -> None:
    ends = [("10.1.2.3", 50001), ("10.1.2.3", 50002), ("10.2.0.1", 50001), ("fe80::1", 50001), ("::1", 1)]
    assert takes(text, *(exchange(Endpoint(*end)) for end in ends)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("client_id == app", [True, False, False, False]),
        ("client_id == 'App'", [False, True, False, False]),
        ("client_id != app", [False, True, True, False]),
        ("client_id ~ '(?i)^app$'", [True, True, False, False]),
        ("client_id ~ p", [True, True, False, False]),
        ("client_id !~ p", [False, False, True, False]),
        ("client_id contains pp", [True, True, False, False]),
        ("client_id in (app, '')", [True, False, True, False]),
        ("client_id not in (app)", [False, True, True, False]),
        ("client_id == null", [False, False, False, True]),
        ("client_id == 'null'", [False, False, False, False]),
        ("client_id", [True, True, True, False]),
        ("!client_id", [False, False, False, True]),
        ("client_id == ''", [False, False, True, False]),
    ],
)
def test_texts(text: str, expected: list[bool]) -> None:
    assert takes(text, *(exchange(client_id=name) for name in ("app", "App", "", None))) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time == 2023-11-14T22:13:20Z", [True, False, False]),
        ("time < 2023-11-14T22:13:20.000000001Z", [True, False, False]),
        ("time >= 2023-11-14T23:13:21+01:00", [False, True, True]),
        ("time >= 2023-11-15", [False, False, True]),
        ("time > 22:13:20", [False, True, True]),
        ("time < 22:14", [True, True, False]),
        ("time >= +1s", [False, True, True]),
        ("time >= +1.5s", [False, False, True]),
        ("time <= +00:00:01", [True, True, False]),
        ("time <= +00:00:00.999999999", [True, False, False]),
        ("time in (22:13:00..22:13:59)", [True, True, False]),
        ("time >= +1d", [False, False, True]),
        (f"time == {START}", [True, False, False]),
    ],
)
def test_times(text: str, expected: list[bool]) -> None:
    times = (START, START + 10**9, START + 86_400 * 10**9)
    assert takes(text, *(exchange(request=frame(time_ns=at)) for at in times)) == expected


def test_names() -> None:
    token = exchange(kind=ExchangeKind.SASL_TOKEN, api_key=None)
    odd = exchange(api_key=999)
    plain = exchange()
    assert takes("kind == sasl_token", token, odd, plain) == [True, False, False]
    assert takes("api == metadata", token, odd, plain) == [False, False, True]
    assert takes("api == 999", token, odd, plain) == [False, True, False]
    assert takes("api ~ 9", token, odd, plain) == [False, True, False]
    assert takes("api == null", token, odd, plain) == [True, False, False]
    assert takes("api in (3, 999)", token, odd, plain) == [False, True, True]


def test_how_a_connection_ended() -> None:
    left = exchange(close=Close("client", CloseKind.FIN, START + 10**9), request=frame())
    cut = exchange(close=Close(None, CloseKind.CAPTURE_END, START))
    assert takes("closed.by == client", left, cut, exchange()) == [True, False, False]
    assert takes("closed.by == null", left, cut, exchange()) == [False, True, True]
    assert takes("closed.how in (fin, rst)", left, cut, exchange()) == [True, False, False]
    assert takes("closed.after_ns >= 1s", left, cut, exchange()) == [True, False, False]
    assert takes("closed", left, cut, exchange()) == [True, True, False]


def test_every_spelling_of_a_size() -> None:
    made = exchange(request=frame(bytes(10_236)))
    for text in ("10240", "10KiB", "10.24kB", "10240B", "10.24KB", "0x2800", "10_240"):
        assert takes(f"request.bytes == {text}", made) == [True], text
    assert takes("request.bytes < 1MiB and request.bytes > 10kB", made) == [True]
    assert takes("request.captured", made, exchange(request=frame(bytes(5), size=9))) == [False, True]


SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1ns", 1), ("1us", 1000), ("1ms", 10**6), ("1s", SECOND), ("1m", 60 * SECOND), ("1min", 60 * SECOND),
        ("1h", 3600 * SECOND), ("1d", 86_400 * SECOND), ("1.5h", 5400 * SECOND),
    ],
)  # fmt: skip
def test_units_of_time(text: str, ns: int) -> None:
    assert takes(f"latency == {text}", answered(ns), answered(ns + 1)) == [True, False]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5B", 5), ("1kB", 1000), ("1MB", 10**6), ("1GB", 10**9), ("1TB", 10**12), ("1KiB", 1 << 10),
        ("1MiB", 1 << 20), ("1GiB", 1 << 30), ("1TiB", 1 << 40), ("1.5kB", 1500),
    ],
)  # fmt: skip
def test_units_of_size(text: str, size: int) -> None:
    """The four bytes of a frame's size count."""
    made = [exchange(request=frame(size=each - 4)) for each in (size, size + 1)]
    assert takes(f"request.bytes == {text}", *made) == [True, False]
