"""Values of tables against what commands tell as JSON."""

from __future__ import annotations

from typing import Any

IN_ROWS_OF_CONNECTIONS = (("inspect", "software"), ("inspect", "principal"))
IN_LINES_ALONE = (("inspect", "group"), ("inspect", "throttle"), ("inspect", "rack"))
_LEFT_OUT = {*IN_ROWS_OF_CONNECTIONS, *IN_LINES_ALONE}


def is_in_tables(command: str, name: str) -> bool:
    """Whether the rows of tables have what a command prints under this name."""
    return name not in ("number", "start") and (command, name) not in _LEFT_OUT


def compare(found: Any, told: Any, name: str) -> None:
    """A value of a table against JSON, which has times as text and leaves out what is not there."""
    if isinstance(told, dict):
        held = dict(found) if isinstance(found, list) else found
        for inner, value in told.items():
            if inner != "time":
                compare(held[inner], value, f"{name}.{inner}")
    elif isinstance(told, list):
        assert len(found) == len(told), name
        for one, other in zip(found, told, strict=True):
            compare(one, other, name)
    else:
        assert found == told, name
