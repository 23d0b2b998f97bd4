"""Kinds of values with units: durations and sizes."""

from __future__ import annotations

import re
from typing import Any

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.value_kinds import ValueKind, whole

DURATIONS = {
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "d": 86400 * 10**9,
}  # fmt: skip
SIZES = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30,
    "tib": 2**40,
}  # fmt: skip
_AMOUNT = re.compile(r"([+-]?)([0-9][0-9_]{0,38})(?:\.([0-9]{1,18}))?([A-Za-z]+)")


class _Measure(ValueKind):
    """A whole number of some unit."""

    ordered = True
    units: dict[str, int]

    def __init__(self, scale: int, unit: str, needs_unit: bool = False) -> None:
        self.scale = scale
        self.unit = unit
        self._needs_unit = needs_unit

    def parse(self, literal: Literal) -> Any:
        """Return the value in the field's own unit: an int, or a float between two of them."""
        number = whole(literal.text)
        if number is not None:
            if self._needs_unit and number:
                raise ValueError(f"{literal.text!r} needs a unit\nfor example {literal.text}ms")
            return number
        match = _AMOUNT.fullmatch(literal.text)
        if match is None:
            raise ValueError(f"{literal.text!r} is no {self.name}\nfor example {self.example}")
        sign, digits, fraction, unit = match.groups()
        factor = self._factor(unit)
        parts = int(digits) * factor + (int(fraction) * factor / 10 ** len(fraction) if fraction else 0)
        whole_units, rest = divmod(parts, self.scale)
        found = parts / self.scale if rest else int(whole_units)
        return -found if sign == "-" else found

    def _factor(self, unit: str) -> int:
        factor = self.units.get(unit.lower())
        if factor is None:
            raise ValueError(f"no unit {unit!r}\nunits are {', '.join(self.shown_units)}")
        return factor

    shown_units: tuple[str, ...] = ()


class Duration(_Measure):
    """Spans of time."""

    name = quantity = "duration"
    doc = "a span of time with its unit: 50ms, 1.5s, 200us, 2m"
    example = "50ms"
    units = DURATIONS
    shown_units = ("ns", "us", "ms", "s", "m", "h", "d")


class Size(_Measure):
    """Numbers of bytes."""

    name = "size"
    quantity = "number"
    doc = "a number of bytes, also with a unit: 1500, 10kB, 1MiB"
    example = "10kB"
    units = SIZES
    shown_units = ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")


LATENCY = Duration(1, "ns", needs_unit=True)
NANOSECONDS = Duration(1, "ns")
MILLISECONDS = Duration(10**6, "ms")
SIZE = Size(1, "bytes")
