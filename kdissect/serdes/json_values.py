"""Values that JSON does not have, as all decoders of values write them."""

import base64
import math
from datetime import date, time


def number(value: float) -> float | str:
    """Return a number; as Protobuf writes it if JSON cannot represent it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def binary(value: bytes) -> dict[str, str]:
    """Return bytes: `{"base64": "..."}`."""
    return {"base64": base64.b64encode(value).decode("ascii")}


def moment(value: date | time) -> str:
    """Return a date, a time of day or both in ISO 8601, with `Z` for an offset of zero."""
    return value.isoformat().replace("+00:00", "Z")
