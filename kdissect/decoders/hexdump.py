"""Bytes out of hex dumps: an offset, bytes in hex, and mostly the same bytes as ASCII.

The ASCII column may look like hex (`abcd`), so it is not guessed where it can be known: a line has as many
bytes as the next line's offset says, and the last line has its ASCII where the others have theirs.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from kdissect.decoders.hexerror import HexError
from kdissect.model.wording import plural

# xxd `00000010: `, tcpdump `0x0010:  `; hexdump -C and Wireshark `0010  `; the last line of hexdump may be
# an offset alone
_OFFSET = re.compile(r"\s*(?:0[xX])?(?P<offset>[0-9a-fA-F]{4,16})(?P<mark>:\s|\s{2,}|\s*$)")
_GROUP = re.compile(r"(?P<gap>\s*)(?P<digits>(?:[0-9a-fA-F]{2})+)(?=\s|$)")
_GAP = re.compile(r"\s{2,}")
_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2}\s*)*")
_SQUEEZED = "*"  # hexdump -C: the line before repeats
MAX_LINE = 256  # bytes a line: the most that xxd -c takes
# Bytes that all `*` of a dump together can stand for. A frame may be larger; a dump of it that is pasted has
# seldom so much of one line, and two bytes of text should not take a quarter of a gigabyte.
MAX_SQUEEZED = 16 << 20


class _Line(NamedTuple):
    number: int
    offset: int
    start: int  # column of the first byte, 0-based
    text: str


def is_dump(lines: list[str]) -> bool:
    """Whether the text is a dump: every line starts with an offset, the first one with 0 or one ended by a
    colon.
    """
    shown = [line for line in lines if line.strip() and line.strip() != _SQUEEZED]
    found = [_OFFSET.match(line) for line in shown]
    if not found or found[0] is None or not all(found):
        return False
    first = found[0]
    return first.end() < len(shown[0]) and (int(first["offset"], 16) == 0 or first["mark"].startswith(":"))


def parse_dump(lines: list[str]) -> bytes:
    """The bytes of a dump. Raises HexError."""
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
    """At most `count` bytes of a line, and the column behind them."""
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
    """The bytes of the last line, which no offset follows."""
    text = line.text[:column] if column else line.text
    end = _ascii_start(text, line.start)
    content, stop = _pull(line._replace(text=text[:end]), width or MAX_LINE)
    rest = text[stop:end].strip()
    if rest:
        raise HexError(line.number, text.index(rest, stop) + 1, f"{rest[0]!r} is no hex digit")
    return content


def _ascii_start(text: str, start: int) -> int:
    """Where the ASCII column begins: behind a gap, with one character for every byte before it."""
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
    if end - start > count + 1:  # looked at first: of a line without end nothing is copied at each gap
        return False
    rest = text[start:end]
    if _PAIRS.fullmatch(rest):  # hex behind the gap in the middle of a line, or text that looks like it
        return len(rest) == count
    return True  # Wireshark has a space in the middle
