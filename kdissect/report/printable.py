"""Text from the wire made safe: for a terminal, and for files that others read.

Client ids, topics and file names are whatever somebody sent. Escape sequences in them could clear the screen,
set its title or hide lines, so every character that is not plainly printable becomes an escape.
"""

from typing import Any

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """`text` with control, bidirectional and other invisible characters as `\\n`, `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def field_text(text: str) -> str:
    """Return `printable` text with the backslash itself doubled, so that the original can be restored."""
    return printable(text.replace("\\", "\\\\") if "\\" in text else text)


def terminal_json(line: bytes) -> bytes:
    """Return JSON text with what JSON allows raw but no terminal should get escaped: DEL, U+0080 to U+009F
    ...

    The value does not change: `\\u009b` in a JSON string is the character itself. Line ends stay.
    """
    text = line.decode()
    if text.replace("\n", "").isprintable():
        return line
    return "".join(
        char if char.isprintable() or char == "\n" else _json_escape(char) for char in text
    ).encode()


# Bidi_Control of Unicode (PropList.txt)
_DIRECTION_CONTROLS = {
    code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def inert_json(text: str) -> str:
    """Return JSON text with the controls of the writing direction escaped: raw, they reorder the text around
    them.

    A parser reads the same value. json_out.rs writes its strings in the same way.
    """
    return text if text.isascii() else text.translate(_DIRECTION_CONTROLS)


def _escape(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if 0xDC80 <= code < 0xDD00:  # a byte of a file's name that is no UTF-8 (PEP 383)
        code &= 0xFF
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def whole_text(value: Any) -> Any:
    """Return plain values with lone surrogates replaced: they are no text, and strict readers refuse them."""
    if isinstance(value, str):
        return value if value.isascii() else value.translate(_SURROGATES)
    if isinstance(value, dict):
        return {whole_text(name): whole_text(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole_text(item) for item in value]
    return value
