r"""Bytes out of text that people paste.

- hex digits in any grouping, with `0x` before them, `,` or `:` between, `//` or `#` comments behind
- dumps of xxd, hexdump -C, tcpdump -x and Wireshark, whose offsets and ASCII column are left out
- C and Python strings with `\x00` escapes, in quotes or bare
"""

import re
from collections.abc import Iterator

from kdissect.decoders.hexdump import is_dump, parse_dump
from kdissect.decoders.hexerror import HexError

__all__ = ["HexError", "parse_hex"]

_COMMENT = re.compile(r"(?://|#).*")
_TOKEN = re.compile(r"(?P<filler>[\s,;:{}\[\]()]+)|(?P<prefix>0[xX])?(?P<word>\w+)|.")
_NO_DIGIT = re.compile(r"[^0-9a-fA-F]")
_ESCAPE = re.compile(
    r"\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<octal>[0-7]{1,3})|\\(?P<named>[^x])|(?P<plain>[^\\])", re.DOTALL
)
_NAMED = {
    "n": 10,
    "r": 13,
    "t": 9,
    "a": 7,
    "b": 8,
    "f": 12,
    "v": 11,
    "e": 27,
    "\\": 92,
    "'": 39,
    '"': 34,
    "?": 63,
}
# A backslash is read in one way only: in two, a string that nobody ends is gone through in 2^n ways.
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL)


def parse_hex(text: str) -> bytes:
    """The bytes that `text` shows. Raises HexError, which names line and column."""
    if "\\" in text:
        return _parse_strings(text)
    lines = text.splitlines()
    if is_dump(lines):
        return parse_dump(lines)
    return b"".join(_parse_plain(line, number) for number, line in enumerate(lines, 1))


def _parse_plain(line: str, number: int) -> bytes:
    out = bytearray()
    for token in _TOKEN.finditer(_COMMENT.sub("", line)):
        if token["word"]:
            out += _parse_word(token, number)
        elif not token["filler"]:
            raise HexError(number, token.start() + 1, f"{token[0]!r} is no hex digit")
    return bytes(out)


def _parse_word(token: re.Match[str], number: int) -> bytes:
    digits = token["word"]
    wrong = _NO_DIGIT.search(digits)
    if wrong:
        raise HexError(number, token.start("word") + wrong.start() + 1, f"{wrong[0]!r} is no hex digit")
    if len(digits) % 2:
        if not token["prefix"]:  # C allows 0x0
            raise HexError(number, token.start() + 1, f"{digits!r} has an odd number of hex digits")
        digits = "0" + digits
    return bytes.fromhex(digits)


def _parse_strings(text: str) -> bytes:
    """Strings in quotes one after the other, or else every line as one."""
    quoted = [(match[2], match.start(2)) for match in _quoted(text)]
    bare = [(line.group().strip(), line.start()) for line in re.finditer(r"\S[^\r\n]*", text)]
    return b"".join(_unescape(part, text, start) for part, start in quoted or bare)


def _quoted(text: str) -> Iterator[re.Match[str]]:
    """Strings in quotes. One that nobody ends is none; nor is any behind it with the same mark, which would
    have ended it: they are not looked at, or a text of `\\"` would be gone through from each of them.
    """
    marks = "\"'"
    at = 0
    while marks and (start := re.compile(f"[{marks}]").search(text, at)):
        match = _QUOTED.match(text, start.start())
        if match is None:
            marks = marks.replace(start[0], "")
            at = start.end()
        else:
            yield match
            at = match.end()


def _unescape(part: str, text: str, start: int) -> bytes:
    out = bytearray()
    at = 0
    while at < len(part):
        match = _ESCAPE.match(part, at)
        if match is None:
            raise _at(text, start + at, "\\x wants two hex digits")
        if match["named"] and match["named"] not in _NAMED:
            raise _at(text, start + at, f"\\{match['named']} is no byte")
        out += _byte_of(match)
        at = match.end()
    return bytes(out)


def _byte_of(match: re.Match[str]) -> bytes:
    if match["hex"]:
        return bytes.fromhex(match["hex"])
    if match["octal"]:
        return bytes([int(match["octal"], 8) & 0xFF])
    return bytes([_NAMED[match["named"]]]) if match["named"] else match["plain"].encode()


def _at(text: str, offset: int, why: str) -> HexError:
    before = text[:offset]
    return HexError(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, why)
