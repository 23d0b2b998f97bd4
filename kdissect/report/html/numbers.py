"""Numbers as people read them."""

_UNITS = (
    (3_600_000_000_000, "h"),
    (60_000_000_000, "min"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
)
_SIZES = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def duration(time_ns: int) -> str:
    """`1.24 ms`; three digits."""
    for size, unit in _UNITS:
        if time_ns >= size:
            return f"{_three(time_ns / size)} {unit}"
    return f"{time_ns} ns"


def count(value: int) -> str:
    """`12,345`."""
    return f"{value:,}"


def short(value: int) -> str:
    """`12k`: at most four characters."""
    for size, unit in _SIZES:
        if value >= size:
            shown = value / size
            return f"{shown:.1f}{unit}" if shown < 9.95 else f"{round(shown)}{unit}"
    return str(value)


def plural(value: int, noun: str) -> str:
    """`1 exchange`, `2 exchanges`."""
    return f"{count(value)} {noun}{'' if value == 1 else 's'}"


def _three(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
