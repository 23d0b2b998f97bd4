"""Lines that name the connections that are copies, and the capture set whose copy is read."""

from collections.abc import Iterator
from typing import Any

from kdissect.model.wording import plural
from kdissect.report.printable import printable


def copies_lines(copies: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each line for `CopyCounts.facts`."""
    yield from _lines("copies", copies, "", "same_as")
    yield from _lines("probable copies", copies["probable"], " over TLS", "probably_same_as")


def _lines(title: str, copies: dict[str, Any], what: str, column: str) -> Iterator[tuple[str, str]]:
    total = copies["total"]
    for row in copies["by_capture_set"]:
        count, examples = row["connections"], row["examples"]
        total -= count
        pairs = ", ".join(f"{one['connection']} -> {one['same_as']}" for one in examples)
        rest = count - len(examples)
        more = f", and {rest} more ({column} of kdissect connections)" if rest else ""
        verb = "is" if count == 1 else "are"
        yield (
            title,
            f"{plural(count, 'connection')}{what} of {printable(row['capture_set'])} {verb} read from "
            f"{printable(row['read_from'])} (copy -> connection that is read): {pairs}{more}",
        )
    if total:
        yield title, f"{plural(total, 'connection')}{what} of further capture sets"
