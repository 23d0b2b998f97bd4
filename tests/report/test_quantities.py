"""Numbers as reports print them."""

import pytest

from kdissect.report.quantities import byte_count, byte_rate, duration, rate, short_count

S = 10**9


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1.0 kB"), (1250, "1.2 kB"), (99_900, "99.9 kB"),
        (100_000, "100 kB"), (999_000, "999 kB"), (10**6, "1.0 MB"), (34 * 10**6, "34.0 MB"),
        (10**9, "1.0 GB"),
        (10**12, "1.0 TB"), (10**15, "1.0 PB"), (10**18, "1000 PB"), (-1500, "-1.5 kB"),
        (-250_000, "-250 kB"),
    ],
)  # fmt: skip
def test_bytes(count: int, text: str) -> None:
    assert byte_count(count) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 us"), (412_000, "412 us"), (999_000, "999 us"), (10**6, "1.00 ms"), (1_254_000, "1.25 ms"),
        (999_990_000, "999.99 ms"), (999_994_999, "999.99 ms"), (999_995_500, "1000.00 ms"),
        (599_994_999_900, "599.99 s"), (599_995_000_300, "600.00 s"),
        (S, "1.00 s"), (3_200_000_000, "3.20 s"), (599 * S, "599.00 s"),
        (599_999_999_999, "600.00 s"), (600 * S, "0 h 10 m"), (660 * S - 1, "0 h 10 m"),
        (999_999, "1000 us"), (999_999_999, "1000.00 ms"),
        (659 * S, "0 h 10 m"), (660 * S, "0 h 11 m"), (3600 * S, "1 h 00 m"),
        (7500 * S, "2 h 05 m"), (100 * 3600 * S, "100 h 00 m"), (-412_000, "-412 us"), (-2 * S, "-2.00 s"),
    ],
)  # fmt: skip
def test_spans(ns: int, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("count", "ns", "text"),
    [
        (5, 0, ""), (5, -1, ""), (5, 1, "5000000000/s"), (12, S, "12/s"), (10, S, "10/s"), (9, S, "9/s"),
        (95, 10 * S, "9.5/s"), (1, 4 * S, "0.25/s"), (0, S, "0/s"), (1234, S, "1234/s"),
    ],
)  # fmt: skip
def test_rates(count: int, ns: int, text: str) -> None:
    assert rate(count, ns) == text


def test_rates_of_bytes() -> None:
    assert byte_rate(2500, 2 * S) == "1.2 kB/s"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"), (999, "999"), (1000, "1.0k"), (1249, "1.2k"), (9949, "9.9k"), (9950, "10k"),
        (12_345, "12k"), (999_499, "999k"), (999_500, "1.0M"), (10**6, "1.0M"), (999_499_999, "999M"),
        (999_500_000, "1.0G"), (1049, "1.0k"), (1051, "1.1k"), (1_049_999, "1.0M"), (1_050_001, "1.1M"),
        (1_049_999_999, "1.0G"), (1_050_000_001, "1.1G"), (34 * 10**6, "34M"), (10**9, "1.0G"),
        (123 * 10**9, "123G"),
    ],
)  # fmt: skip
def test_counts_of_four_characters(count: int, text: str) -> None:
    assert short_count(count) == text
