"""A count in a message has its noun in the right number: "1 byte", "2 bytes"."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdissect.model.wording import plural
from tests.support.console import CHECKOUT

NOUNS = re.findall(
    r"\w+",
    """
    bytes connections requests exchanges packets clients files records batches rules findings members
    topics partitions times others lines rows messages responses errors brokers groups segments frames
    sessions anomalies days names entries generations transactions rebalances producers values characters
    versions captures troubles gaps retransmissions copies faults elements headers fragments checks flows
    differences warnings studies tables levels interfaces conflicts reports events offsets seconds sets
    replicas tasks
    """,
)
BEHIND = re.compile(rf" (?:(?:more|API|other|open|TLS|marked) )*(?:{'|'.join(NOUNS)})\b")
# Of a place where one cannot stand, or that is about a number that is a limit.
NEVER_ONE = re.compile(r"^(?:self\.)?_?[A-Z][A-Z0-9_.]+$|^most$|^(?:self\._)?depth$")


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (1, ("byte",), "1 byte"),
        (0, ("byte",), "0 bytes"),
        (2, ("batch", "batches"), "2 batches"),
        (1, ("batch", "batches"), "1 batch"),
        (12345, ("row", "", ","), "12,345 rows"),
    ],
)
def test_plural(count: int, words: tuple[str, ...], text: str) -> None:
    assert plural(count, *words) == text


def counted_by_hand(source: str) -> Iterator[str]:
    """Yield pieces of f-strings where a noun in the plural follows a value that may be one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    found = BEHIND.match(str(text.value))
                    if found and not NEVER_ONE.match(ast.unparse(value.value)):
                        yield f"{{{ast.unparse(value.value)}}}{found[0]}"


def test_the_search_finds_them() -> None:
    assert list(
        counted_by_hand('f"{n} bytes"; f"{n:,} more findings"; f"{MAX} bytes"; f"{plural(n, 1)}"')
    ) == [
        "{n} bytes",
        "{n} more findings",
    ]


FOLDERS = sorted(path for path in (CHECKOUT / "kdissect").iterdir() if path.is_dir() and path.name[0] != "_")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_no_message_counts_by_hand(folder: Path) -> None:
    found = [
        f"{path.relative_to(CHECKOUT)}: {piece}"
        for path in sorted(folder.rglob("*.py"))
        for piece in counted_by_hand(path.read_text())
    ]
    assert found == [], "kdissect.model.wording"
