"""Times that users type."""

from datetime import datetime

import pytest

from kdissect.cli.moments import parse_moment
from kdissect.query.values.points_in_time import Moment

SECOND = 1_000_000_000


def stamp(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01T10:00:00Z", stamp("2024-05-01T10:00:00+00:00")),
        ("2024-05-01T10:00:00.123456789Z", stamp("2024-05-01T10:00:00+00:00") + 123_456_789),
        ("2024-05-01t10:00:00.5+02:00", stamp("2024-05-01T08:00:00+00:00") + 500_000_000),
        ("2024-05-01 10:00", stamp("2024-05-01T10:00:00+00:00")),
        ("2024-05-01", stamp("2024-05-01T00:00:00+00:00")),
        ("1969-12-31T23:59:59.25Z", -750_000_000),
        ("1714550400", 1714550400 * SECOND),
        ("1714550400.000000001", 1714550400 * SECOND + 1),
    ],
)
def test_absolute(text: str, expected: int) -> None:
    assert parse_moment(text) == Moment(expected)
    assert parse_moment(text).absolute(99) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+10", 10 * SECOND),
        ("+10s", 10 * SECOND),
        ("+1.5s", 1_500_000_000),
        ("+500ms", 500_000_000),
        ("+2m", 120 * SECOND),
        ("+1h", 3600 * SECOND),
        ("+7us", 7_000),
        ("+7ns", 7),
        ("+0.5ms", 500_000),
        ("+1d", 86400 * SECOND),
        ("+00:01:30", 90 * SECOND),
    ],
)
def test_relative(text: str, expected: int) -> None:
    assert parse_moment(text) == Moment(expected, "start")
    assert parse_moment(text).absolute(1000) == 1000 + expected


def test_time_of_day() -> None:
    assert parse_moment("10:00:05").absolute(stamp("2024-05-01T23:00:00+00:00")) == stamp(
        "2024-05-01T10:00:05+00:00"
    )


@pytest.mark.parametrize("text", ["", "now", "-5s", "10 s", "2024-13-01", "2024-05-01T25:00:00Z", "+5y"])
def test_nonsense(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text)
