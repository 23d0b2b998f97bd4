"""The order in which people number files."""

import re

_DIGITS = r"(\d+)"


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Sort key that puts `trace10` behind `trace9`."""
    parts = re.split(_DIGITS, name)
    return [(int(part), len(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]
