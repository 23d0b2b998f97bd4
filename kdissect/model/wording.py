"""Counts in messages."""


def plural(count: int, noun: str, many: str = "", spec: str = "") -> str:
    """`1 byte`, `2 bytes`, `0 bytes`: a number and its noun.

    `many` is the plural where it is not `noun` with an s; `spec` formats the number (`,` for thousands).
    """
    return f"{count:{spec}} {noun if count == 1 else many or noun + 's'}"
