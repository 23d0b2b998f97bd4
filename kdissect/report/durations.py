"""Spans of time for people."""


def duration(ns: int) -> str:
    """Nanoseconds as `412 us`, `1.25 ms`, `3.20 s`, `2 h 05 m`."""
    if abs(ns) < 1_000_000:
        return f"{ns / 1e3:.0f} us"
    if abs(ns) < 1_000_000_000:
        return f"{ns / 1e6:.2f} ms"
    if abs(ns) < 600_000_000_000:
        return f"{ns / 1e9:.2f} s"
    minutes = ns // 60_000_000_000
    return f"{minutes // 60} h {minutes % 60:02} m"
