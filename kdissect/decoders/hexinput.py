r"""Bytes out of text that people paste.

- hex digits in any grouping, with `0x` before them, `,` or `:` between, `//` or `#` comments behind
- dumps of xxd, hexdump -C, tcpdump -x and Wireshark, whose offsets and ASCII column are left out
- C and Python strings with `\x00` escapes, in quotes or bare
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kdissect.model.errors import KdissectError
from kdissect.model.wording import plural

# xxd `00000010: `, tcpdump `0x0010:  `; hexdump -C and Wireshark `0010  `; the last line of hexdump may be
# an offset alone
_OFFSET = re.compile(r"\s*(?:0[xX])?(?P<offset>[0-9a-fA-F]{4,16})(?P<mark>:\s|\s{2,}|\s*$)")
_GROUP = re.compile(r"(?P<gap>\s*)(?P<digits>(?:[0-9a-fA-F]{2})+)(?=\s|$)")
_GAP = re.compile(r"\s{2,}")
_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2}\s*)*")
_SQUEEZED = "*"  # hexdump -C: the line before repeats
MAX_LINE = 256  # bytes a line: the most that xxd -c takes
# Bytes that all `*` of a dump together can stand for. A frame may be larger. A pasted dump rarely repeats one
# line that often, and two bytes of text should not use a quarter of a gigabyte.
MAX_SQUEEZED = 16 << 20
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
# A backslash has only one reading: with two, an unterminated string would take 2^n steps.
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL)


# Bytes out of hex dumps: an offset, bytes in hex, and mostly the same bytes as ASCII.
#
# The ASCII column may look like hex (`abcd`), so it is not guessed if it can be known: a line has the number
# of bytes that the next line's offset shows, and the last line has its ASCII column where the lines before it
# have theirs.
class _Line(NamedTuple):
    number: int
    offset: int
    start: int  # column of the first byte, 0-based
    text: str


def is_dump(lines: list[str]) -> bool:
    """Return whether the text is a dump: every line starts with an offset, the first one with 0 or one ended
    by a colon.
    """
    shown = [line for line in lines if line.strip() and line.strip() != _SQUEEZED]
    found = [_OFFSET.match(line) for line in shown]
    if not found or found[0] is None or not all(found):
        return False
    first = found[0]
    return first.end() < len(shown[0]) and (int(first["offset"], 16) == 0 or first["mark"].startswith(":"))


def parse_dump(lines: list[str]) -> bytes:
    """Return the bytes of a dump. Raises HexError."""
    parsed = [_parse_line(number, line) for number, line in enumerate(lines, 1) if _OFFSET.match(line)]
    squeezed = {number for number, line in enumerate(lines, 1) if line.strip() == _SQUEEZED}
    out = bytearray()
    width = column = 0
    left = MAX_SQUEEZED
    for line, following in pairwise(parsed):
        count = following.offset - line.offset
        if line.number + 1 in squeezed:
            left -= count
            if count < 0 or left < 0:
                raise HexError(line.number + 1, 1, f"a * that stands for {plural(count, 'byte')}")
            content = _last(line, width, column) or bytes(1)
            out += (content * (count // len(content) + 1))[:count]
            continue
        if not 0 < count <= MAX_LINE:
            raise HexError(
                following.number, 1, f"offset {following.offset:#x} does not follow {line.offset:#x}"
            )
        content, end = _pull(line, count)
        if len(content) < count:
            raise HexError(
                line.number,
                end + 1,
                f"{plural(len(content), 'byte')}, but the next offset is {plural(count, 'byte')} on",
            )
        out += content
        width, column = max(width, count), max(column, end)
    return bytes(out) + _last(parsed[-1], width, column)


def _parse_line(number: int, text: str) -> _Line:
    match = _OFFSET.match(text)
    assert match is not None  # the caller chose lines that match
    return _Line(number, int(match["offset"], 16), match.end(), text)


def _pull(line: _Line, count: int) -> tuple[bytes, int]:
    """Return at most `count` bytes of a line, and the column after them."""
    out = b""
    at = line.start
    while len(out) < count:
        group = _GROUP.match(line.text, at)
        if group is None or len(out) + len(group["digits"]) // 2 > count:
            break
        out += bytes.fromhex(group["digits"])
        at = group.end()
    return out, at


def _last(line: _Line, width: int, column: int) -> bytes:
    """Return the bytes of the last line, which no offset follows."""
    text = line.text[:column] if column else line.text
    end = _ascii_start(text, line.start)
    content, stop = _pull(line._replace(text=text[:end]), width or MAX_LINE)
    rest = text[stop:end].strip()
    if rest:
        raise HexError(line.number, text.index(rest, stop) + 1, f"{rest[0]!r} is no hex digit")
    return content


def _ascii_start(text: str, start: int) -> int:
    """Return where the ASCII column begins: after a gap, with one character for every byte before it."""
    shown, at = 0, start  # letters before the gap, and the place up to which they were counted
    end = len(text.rstrip())
    for gap in _GAP.finditer(text, start):
        shown += len("".join(text[at : gap.start()].split()))
        at = gap.end()
        if shown > 2 * MAX_LINE:
            break
        if _is_ascii_column(text, at, max(at, end), shown // 2):
            return gap.start()
    return len(text)


def _is_ascii_column(text: str, start: int, end: int, count: int) -> bool:
    if text.startswith("|", start):  # hexdump -C
        return True
    if end - start > count + 1:  # compared first, so that an endless line is not copied at each gap
        return False
    rest = text[start:end]
    if _PAIRS.fullmatch(rest):  # hex behind the gap in the middle of a line, or text that looks like it
        return len(rest) == count
    return True  # Wireshark has a space in the middle


# The error of everything that reads bytes from text.
class HexError(KdissectError):
    """Text that does not show bytes; `line` and `column` are 1-based."""

    def __init__(self, line: int, column: int, why: str) -> None:
        super().__init__(f"line {line}, column {column}: {why}")
        self.line = line
        self.column = column
        self.why = why


def parse_hex(text: str) -> bytes:
    """Return the bytes that `text` shows. Raises HexError, which names line and column."""
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
    """Return strings in quotes one after the other, or else every line as one."""
    quoted = [(match[2], match.start(2)) for match in _quoted(text)]
    bare = [(line.group().strip(), line.start()) for line in re.finditer(r"\S[^\r\n]*", text)]
    return b"".join(_unescape(part, text, start) for part, start in quoted or bare)


def _quoted(text: str) -> Iterator[re.Match[str]]:
    """Yield strings in quotes. An unterminated string is skipped, and so is any later string with the same
    mark, which would have terminated it: otherwise a text of `\\"` would be searched from each of them.
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
