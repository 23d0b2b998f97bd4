"""What is kept from one time to the next: theme, columns, history of filters."""

from __future__ import annotations


class State:
    """Values to begin with; the app changes them as the user does, and calls `save` at the end.

    This one forgets. One that keeps them in the user's configuration directory overrides `load` and `save`,
    both of which raise nothing.
    """

    def __init__(self) -> None:
        self.theme = "textual-dark"
        self.columns: tuple[str, ...] = ()
        """Names of `exchange_columns.COLUMNS`; none: all that fit."""
        self.history: list[str] = []
        """Filters, the latest last."""
        self.load()

    def load(self) -> None:
        """Fill in what was kept."""

    def save(self) -> None:
        """Keep it."""
