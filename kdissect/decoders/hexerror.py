"""The error of everything that reads bytes from text."""

from kdissect.model.errors import KdissectError


class HexError(KdissectError):
    """Text that does not show bytes; `line` and `column` are 1-based."""

    def __init__(self, line: int, column: int, why: str) -> None:
        super().__init__(f"line {line}, column {column}: {why}")
        self.line = line
        self.column = column
        self.why = why
