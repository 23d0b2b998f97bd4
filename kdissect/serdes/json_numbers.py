"""Numbers that JSON does not have."""

import math


def number(value: float) -> float | str:
    """Return a number; as Protobuf writes it if JSON cannot represent it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
