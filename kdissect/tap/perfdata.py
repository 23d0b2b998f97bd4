"""What a HotSpot JVM tells of itself in its performance data, the file that `jps` reads.

Source: OpenJDK, src/hotspot/share/runtime/perfMemory.hpp (PerfDataPrologue, PerfDataEntry), version 2.0.
"""

from struct import Struct, error

_MAGIC = b"\xca\xfe\xc0\xc0"
_MAX_BYTES = 1 << 22
_MAX_ENTRIES = 10_000
_BYTES = ord("B")


def strings(data: bytes) -> dict[str, str]:
    """The entries that are texts, by name; empty where the data are no performance data."""
    if data[:4] != _MAGIC or len(data) < 32 or data[4] > 1:
        return {}
    order = "<" if data[4] else ">"
    head, entry = Struct(f"{order}II"), Struct(f"{order}IIIBBBBI")
    at, count = head.unpack_from(data, 24)
    found: dict[str, str] = {}
    try:
        for _ in range(min(count, _MAX_ENTRIES)):
            length, name_at, items, kind, _flags, _units, _variability, data_at = entry.unpack_from(data, at)
            if length < entry.size or at + length > len(data):
                break
            if kind == _BYTES and items:
                name = _text(data, at + name_at, at + data_at)
                found[name] = _text(data, at + data_at, at + data_at + items)
            at += length
    except error:  # cut short
        pass
    return found


def read(path: str) -> dict[str, str]:
    """The same of a file; empty where it cannot be read."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            return strings(stream.read(_MAX_BYTES))
    except OSError:
        return {}


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].partition(b"\0")[0].decode("utf-8", "replace")
