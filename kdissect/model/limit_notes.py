"""Notes on the limits that a user may set: the value that each one counts, the report when it is reached, and
its unit.

`kdissect limits` prints this, docs/limits.md has it, and `--limits` reads with it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kdissect.model.limits import DEFAULT_LIMITS, MIB, Limits

_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}  # fmt: skip
_VALUE = re.compile(r"(\d[\d_]*)([A-Za-z]*)")
_ANY = (1 << 63) - 1
# Largest size a prefix of int32 can say (spec/004 "Frame Structure").
_INT32 = (1 << 31) - 1
# Each level is some of Python's own stack.
_DEEP = 100
# Smaller frames may fill a segment, which is then taken whole without a look at the bound.


class LimitNote(NamedTuple):
    """`told` is the kind of anomaly, or words if it is something else.

    `is_bytes`: the value may have a unit. `least` and `most` bound its value.
    """

    what: str
    told: str
    is_bytes: bool = False
    most: int = _ANY
    least: int = 1


_BYTES = True
LIMIT_NOTES: dict[str, LimitNote] = {
    "connections": LimitNote("open connections", "evicted_idle"),
    "out_of_order_bytes": LimitNote("bytes behind holes in all connections", "reassembly_limit", _BYTES),
    "frame_bytes": LimitNote("bytes of incomplete frames in all connections", "reassembly_limit", _BYTES),
    "pending_bytes": LimitNote("bytes of requests in flight in all connections", "pending_limit", _BYTES),
    "pending_requests": LimitNote("requests in flight in all connections", "pending_limit"),
    "packet_depth": LimitNote("packets in each other", "malformed_packet", most=_DEEP, least=2),
    "fragmented_packets": LimitNote("IP packets in fragments at a time", "fragment_incomplete"),
    "fragments": LimitNote("fragments of one", "fragment_incomplete"),
    "direction_out_of_order_bytes": LimitNote(
        "bytes of a direction after a hole", "reassembly_limit", _BYTES
    ),
    "direction_out_of_order_segments": LimitNote("segments of a direction after a hole", "reassembly_limit"),
    "frame_size": LimitNote("size of a frame", "bad_frame_size", _BYTES, _INT32, MIB),
    "connection_pending_requests": LimitNote("requests in flight on a connection", "pending_limit"),
    "connection_pending_bytes": LimitNote("bytes of them", "pending_limit", _BYTES),
    "anomalies": LimitNote("anomalies kept of a connection, a file, a parser", "all are counted"),
    "batch_bytes": LimitNote("bytes a batch decompresses to", "decompression_limit", _BYTES),
    "batch_ratio": LimitNote("the same for each compressed byte, above 16 MiB", "decompression_limit"),
    "batch_records": LimitNote("records read of a batch", "decompression_limit"),
    "run_bytes": LimitNote(
        "bytes all batches decompress to, beyond run_ratio", "decompression_limit", _BYTES
    ),
    "run_ratio": LimitNote("bytes for each compressed one that are not counted there", "decompression_limit"),
    "run_records": LimitNote("records of all batches, beyond run_record_ratio", "decompression_limit"),
    "run_record_ratio": LimitNote("records for each captured byte, not counted there", "decompression_limit"),
    "message_depth": LimitNote("compressed messages in each other", "nested_compression", most=_DEEP),
    "payload_depth": LimitNote("payloads in each other", "malformed_payload", most=_DEEP),
    "topic_names": LimitNote("names of topic ids", "limit_reached"),
    "statistic_rows": LimitNote("rows of a statistic", "later ones share the row other"),
    "sorted_rows": LimitNote(
        "rows that --sort holds of a list", "rows that come last are left out, and counted"
    ),
    "findings": LimitNote("different findings kept", "counted as dropped"),
    "filter_characters": LimitNote("characters of a filter", "an error"),
    "filter_depth": LimitNote("depth of a filter", "an error", most=_DEEP),
    "pattern_characters": LimitNote("characters of a regular expression", "an error"),
    "pattern_ways": LimitNote("ways to match it", "an error"),
}


def parse_limits(text: str, base: Limits = DEFAULT_LIMITS) -> Limits:
    """`NAME=VALUE,...` over `base`. Raises ValueError with a line for people."""
    changed: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if name not in LIMIT_NOTES:
            raise ValueError(f"no limit {name!r}{_nearest(name)}; see: kdissect limits")
        if not equals:
            raise ValueError(f"{part!r} is not NAME=VALUE")
        changed[name] = _value(name, value)
    if not changed:
        raise ValueError(f"{text!r} is not NAME=VALUE")
    return base._replace(**changed)


def _value(name: str, text: str) -> int:
    note = LIMIT_NOTES[name]
    found = _VALUE.fullmatch(text)
    unit = found[2].lower() if found else ""
    if found is None or unit not in _UNITS or (unit and not note.is_bytes):
        kind = "a number of bytes, such as 1500, 64KiB or 2GB" if note.is_bytes else "a whole number"
        raise ValueError(f"{name}: {text!r} is not {kind}")
    digits = found[1].replace("_", "")
    value = int(digits) * _UNITS[unit] if len(digits) < 20 else _ANY + 1
    if not note.least <= value <= note.most:
        raise ValueError(f"{name}: {text} is not within {note.least}-{note.most}")
    return value


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # at first use: start-up

    near = get_close_matches(name, LIMIT_NOTES, 1)
    return f"; did you mean {near[0]}?" if near else ""
