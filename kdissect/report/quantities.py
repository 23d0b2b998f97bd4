"""Numbers for people: bytes, rates, spans of time, counts."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_SHORT = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
_STEP = 1000  # SI: what disks and networks count in


def byte_count(count: float) -> str:
    """Return bytes as `512 B`, `1.2 kB`, `34 MB`."""
    unit = 0
    while abs(count) >= _STEP and unit < len(_UNITS) - 1:
        count /= _STEP
        unit += 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 or abs(count) >= 100 else f"{count:.1f} {_UNITS[unit]}"


def rate(count: float, duration_ns: int) -> str:
    """Return a count in a time as `12/s`; empty for a time of 0."""
    if duration_ns <= 0:
        return ""
    value = count * 1_000_000_000 / duration_ns
    return f"{value:.0f}/s" if value >= 10 else f"{value:.2g}/s"


def byte_rate(count: float, duration_ns: int) -> str:
    """Return bytes in a time, which is not 0, as `1.2 kB/s`."""
    return f"{byte_count(count * 1_000_000_000 / duration_ns)}/s"


def duration(ns: int) -> str:
    """Return nanoseconds as `412 us`, `1.25 ms`, `3.20 s`, `2 h 05 m`."""
    if abs(ns) < 1_000_000:
        return f"{ns / 1e3:.0f} us"
    if abs(ns) < 1_000_000_000:
        return f"{ns / 1e6:.2f} ms"
    if abs(ns) < 600_000_000_000:
        return f"{ns / 1e9:.2f} s"
    minutes = ns // 60_000_000_000
    return f"{minutes // 60} h {minutes % 60:02} m"


def grouped(count: int) -> str:
    """Return a count as `12,345`."""
    return f"{count:,}"


def short_count(count: int) -> str:
    """Return a count in four characters: `512`, `1.2k`, `12k`, `34M`."""
    for size, unit in _SHORT:
        shown = count / size
        if shown >= 0.9995:  # 1.0 when it is rounded: the smaller unit would need a fifth character
            return f"{shown:.1f}{unit}" if shown < 9.95 else f"{shown:.0f}{unit}"
    return str(count)
