"""Values of rows as the text of one cell."""

from typing import Any

from kdissect.report.printable import field_text

LIST_SEPARATOR = ","


def cell(value: Any) -> str:
    """A value as the text of one cell: null is empty, lists are joined by commas, structs are JSON.

    Safe for a terminal.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return field_text(value)
    if type(value) is int:
        return str(value)
    if isinstance(value, list):
        return LIST_SEPARATOR.join(map(cell, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        if not value:
            return "{}"
        import json

        return field_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return str(value)
