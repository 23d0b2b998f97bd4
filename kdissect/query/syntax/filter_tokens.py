"""A filter's text to tokens.

A word is any text that needs no quotes: names of fields, numbers with units, times, addresses, names of
topics, simple patterns. Its position decides the meaning of a word.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from kdissect.model.limits import in_force
from kdissect.query.syntax.filter_errors import FilterError


class TokenKind(StrEnum):
    """Kind of a token."""

    WORD = "word"
    STRING = "string"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """A piece of the text. `text` of a string is its content, without quotes and escapes."""

    kind: TokenKind
    text: str
    start: int
    end: int


_SYMBOLS = ("==", "!=", "!~", "<=", ">=", "&&", "||", "<", ">", "~", "!", "(", ")", ",")
# Typed by habit of another language, and what is meant. Those of one character are looked for last.
_HABITS = {"===": "==", "!==": "!=", "=~": "~", "~=": "!=", "<>": "!=", "=": "==", "&": "&&", "|": "||"}
_LONG_HABITS = tuple(habit for habit in _HABITS if len(habit) > 1)
_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[A-Za-z0-9_.:/%+*@^$?\[\]\-]+")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a filter, with an END after them. Raises FilterError."""
    most = in_force().filter_characters
    if len(text) > most:
        raise FilterError(f"a filter has at most {most} characters, not {len(text)}", text, most, most)
    tokens: list[Token] = []
    offset = _skip(text, 0)
    while offset < len(text):
        token = _token(text, offset)
        tokens.append(token)
        offset = _skip(text, token.end)
    tokens.append(Token(TokenKind.END, "", len(text), len(text)))
    return tokens


def _skip(text: str, offset: int) -> int:
    found = _SPACE.match(text, offset)
    return found.end() if found else offset


def _token(text: str, start: int) -> Token:
    if text[start] in "\"'":
        return _string(text, start)
    word = _WORD.match(text, start)
    if word:
        end = _behind_subscripts(text, word.end())
        return Token(TokenKind.WORD, text[start:end], start, end)
    found = next((s for s in (*_LONG_HABITS, *_SYMBOLS, *_HABITS) if text.startswith(s, start)), "")
    if found in _HABITS:
        hint = f"did you mean {_HABITS[found]}?"
        raise FilterError(f"no operator {found!r}", text, start, start + len(found), hint)
    if found:
        return Token(TokenKind.SYMBOL, found, start, start + len(found))
    raise FilterError(f"{text[start]!r} cannot stand here", text, start, start, 'quote texts: "..."')


def _behind_subscripts(text: str, end: int) -> int:
    """Return the end of a word with names in quotes inside: `header["x"].y`."""
    while text[end - 1] == "[" and text[end : end + 1] in ('"', "'") and text[end : end + 1]:
        closing = _string(text, end).end
        rest = _WORD.match(text, closing)
        if rest is None or rest[0][0] != "]":
            raise FilterError("this bracket is never closed", text, end - 1, end - 1, "add ]")
        end = rest.end()
    return end


def _string(text: str, start: int) -> Token:
    quote, offset = text[start], start + 1
    while offset < len(text) and text[offset] != quote:
        offset += 2 if text[offset] == "\\" else 1
    if offset >= len(text):
        raise FilterError("the quote is never closed", text, start, start, f"add {quote}")
    return Token(TokenKind.STRING, unescape(text[start + 1 : offset]), start, offset + 1)


def unescape(text: str) -> str:
    r"""Replace escapes by their characters: `\"`, `\'`, `\\`, `\n`, `\t`, `\r`, `\xNN`, `\uNNNN`.

    Any other backslash stays, so that patterns need not double theirs.
    """
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    short, long, letter = match.groups()
    if letter is None:
        return chr(int(short or long, 16))
    return _PLAIN.get(letter, match[0])


def quote(text: str) -> str:
    """Return a text as a filter writes it."""
    if _WORD.fullmatch(text):
        return text
    return quoted(text)


def quoted(text: str) -> str:
    """Return a text in quotes."""
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else letter
