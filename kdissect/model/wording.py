"""Words in messages: counts with their nouns, and names of files, which need not be UTF-8."""

import os
import re


def plural(count: int, noun: str, many: str = "", spec: str = "") -> str:
    """`1 byte`, `2 bytes`, `0 bytes`: a number and its noun.

    `many` is the plural unless it is `noun` with an s; `spec` formats the number (`,` for thousands).
    """
    return f"{count:{spec}} {noun if count == 1 else many or noun + 's'}"


def path_text(path: str) -> str:
    """Return a path as text that every format can hold: what is no UTF-8 stands as `\\xff`."""
    if path.isascii():
        return path
    return _encoded(path).decode("utf-8", "backslashreplace")


def path_of(text: str) -> bytes:
    """Return the path that `path_text` made text of, whatever the locale is."""
    path = _encoded(text)
    if b"\\x" not in path or os.path.exists(path):  # noqa: PTH110  paths stay strings
        return path
    return re.sub(rb"\\x([89a-f][0-9a-f])", lambda found: bytes.fromhex(found[1].decode()), path)


def _encoded(path: str) -> bytes:
    """Return the bytes of a path. On Windows it may have half a pair of UTF-16, which stands for no byte."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")
