"""The error of a filter that cannot be used: one line, and the position in the expression."""

from unicodedata import combining, east_asian_width

SHOWN = 100  # characters of the expression around the position: a line of a terminal


class FilterError(ValueError):
    """A filter that does not parse, or does not fit the fields it names.

    `start` and `end` are offsets into `text`, the whole expression; `hint` is a suggestion or empty.
    """

    def __init__(self, why: str, text: str, start: int, end: int, hint: str = "") -> None:
        self.why = why
        self.text = text
        self.start = start
        self.end = max(end, start + 1)
        self.hint = hint

    @property
    def column(self) -> int:
        """1-based column at which the trouble begins."""
        return self.start + 1

    def __str__(self) -> str:
        return f"column {self.column}: {inert(self.why)}{'; ' + inert(self.hint) if self.hint else ''}"

    def __reduce__(self) -> tuple[object, ...]:
        return FilterError, (self.why, self.text, self.start, self.end, self.hint)

    def render(self) -> str:
        """Return the message, the expression, and carets below the position. Safe for a terminal."""
        first = max(0, self.start - SHOWN // 2)
        line = inert(self.text[first : first + SHOWN])
        before = inert(self.text[first : self.start])
        marked = inert(self.text[self.start : min(self.end, first + SHOWN)])
        carets = "^" * max(1, _cells(marked))
        return f"{self}\n  {line}\n  {' ' * _cells(before)}{carets}"


def inert(text: str) -> str:
    """Return the text with `?` for every character that does not print, so that none moves the cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _cells(text: str) -> int:
    """Return cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
