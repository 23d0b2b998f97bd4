"""Values of tables against what commands tell as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def is_in_tables(name: str) -> bool:
    """Return whether the rows of tables have what a command prints under this name.

    The cluster of a connection is known from exchanges; rows of connections are made without them.
    """
    return name not in {"number", "cluster"}


def compare(found: Any, told: Any, name: str) -> None:
    """Compare a value of a table with JSON, which has times as text and leaves out absent values."""
    if isinstance(told, dict):
        held = dict(found) if isinstance(found, list) else found
        for inner, value in told.items():
            compare(held[inner], value, f"{name}.{inner}")
    elif isinstance(told, list):
        assert len(found) == len(told), name
        for one, other in zip(found, told, strict=True):
            compare(one, other, name)
    elif isinstance(found, datetime):
        assert found == datetime.fromisoformat(told), name  # both to the microsecond
    else:
        assert found == told, name
