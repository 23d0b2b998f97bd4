"""The line that says which connections are copies of another capture set's, and which copy is read."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kdissect.model.wording import plural

# A line for people names so many pairs.
_SHOWN = 5


def copies_text(total: int, pairs: Iterable[tuple[str, str]]) -> str:
    """`total` copies; `pairs` are ids of the first ones, each with the connection that is read."""
    shown = [f"{copy} -> {read}" for copy, read in islice(pairs, _SHOWN)]
    rest = total - len(shown)
    more = f", and {rest} more (same_as of kdissect connections)" if rest else ""
    return f"{plural(total, 'connection')} (copy -> connection that is read): {', '.join(shown)}{more}"
