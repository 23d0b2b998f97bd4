"""Numbers of bytes and rates for people."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_STEP = 1000  # SI: what disks and networks count in


def byte_count(count: float) -> str:
    """Bytes as `512 B`, `1.2 kB`, `34 MB`."""
    unit = 0
    while abs(count) >= _STEP and unit < len(_UNITS) - 1:
        count /= _STEP
        unit += 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or abs(count) >= 100 else f"{count:.1f} {_UNITS[unit]}"


def rate(count: float, duration_ns: int) -> str:
    """A count in a time as `12/s`; empty where there is no time."""
    if duration_ns <= 0:
        return ""
    value = count * 1_000_000_000 / duration_ns
    return f"{value:.0f}/s" if value >= 10 else f"{value:.2g}/s"
