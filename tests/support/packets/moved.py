"""Captures moved to another time, and what commands say of them with the times taken relative."""

import re
from datetime import UTC, datetime
from pathlib import Path

from kdissect.capture.files import open_captures
from kdissect.capture.formats.capture_writer import PcapngWriter

SECOND = 1_000_000_000
# A capture lasts less, and no other number in its output comes so near to its beginning.
_NEAR_S = 80_000
_DATE = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)")
_NUMBER = re.compile(r"-?\b\d{6,}\b")
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?:[0-9a-f]{48})?(?![0-9a-f])")


def move(source: Path | str, target: Path, second: int, *, resolution: int = 9) -> str:
    """Write a capture so that its first packet stands at a second since 1970; gives its path."""
    packets = list(open_captures([str(source)]).packets())
    begin = packets[0].time_ns
    with target.open("wb") as file:
        writer = PcapngWriter(file)
        writer.interface(packets[0].link_type, offset=second, resolution=resolution)
        for packet in packets:
            writer.write(second * SECOND + packet.time_ns - begin, packet.data, packet.wire_length)
    return str(target)


def relative(text: str, second: int) -> str:
    """Output with times near `second` told from there, and ids, which are made from times, numbered."""
    ids: dict[str, int] = {}

    def date(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found[0]).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        off = at.days * 86400 + at.seconds - second
        return f"<{off} s>" if abs(off) < _NEAR_S else found[0]

    def number(found: re.Match[str]) -> str:
        value = int(found[0])
        for unit in (SECOND, 1_000_000, 1000):
            if abs(value - second * unit) < _NEAR_S * unit:
                return f"<{value - second * unit} of {unit}>"
        return found[0]

    text = _NUMBER.sub(number, _DATE.sub(date, text))
    return _ID.sub(lambda found: f"<id {ids.setdefault(found[0], len(ids))}>", text)
