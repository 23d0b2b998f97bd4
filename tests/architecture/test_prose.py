"""README and the pages of docs/ keep to the part of the style guide that a machine can check."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.console import CHECKOUT

PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *(page for page in sorted((CHECKOUT / "docs").rglob("*.md")) if "rules" not in page.parts),
]
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"`[^`\n]*`")
# Written from docstrings and help texts, which have tests of their own.
GENERATED = re.compile(r"<!-- (.+?): begin -->.*?<!-- \1: end -->|<!-- below: printed by .*", re.DOTALL)
LINK_TARGET = re.compile(r"(?<=\])\([^)\n]*\)|<[^>\n]*>")


def habit(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


# Words that read like a translation, by what to write instead.
HABITS = {
    "report, contain, receive": habit("tell", "tells", "told"),
    "hand over, native-owned": habit("lend", "lends", "lending", "lender", "lent", "loan", "loans"),
    "is, appears": habit(
        r"(?:stands|stood) (?:in|on|at|behind|before|beside|with|there|first|below|above)",
    ),
    "after": habit(
        r"behind (?:it|them|which|one another|a)",
        r"behind the (?:body|packet|file|header|request|response|frame|batch|last)",
    ),
    "skip, fail, in progress, available": habit(
        "goe?s? by",
        "went by",
        r"c[oa]me?s? to nothing",
        "under way",
        "at hand",
        "has (?:it|them) back",
        "to be had",
    ),
    "again, next to, equal, or": habit("anew", r"beside(?!s)", "alike", "be it", "be they"),
    "returns, contains": habit(r"gives (?:the|a|an|what|its|up|none|whether|how)"),
}
# A sentence that begins so, and is no question, hides its subject.
OPENING = re.compile(r"^(?:[-*] |\| |\d+\. )?(?:What|Who|Whoever|Whatever)\b(?P<more>.*)$", re.MULTILINE)


class Hit(NamedTuple):
    page: str
    line: int
    text: str
    instead: str


def blanked(text: str) -> str:
    """Replace code and the targets of links by blanks, so that positions and lines remain."""
    for pattern in (GENERATED, CODE_BLOCK, CODE_SPAN, LINK_TARGET):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", "_", found[0]), text)
    return text


def hits(page: str, text: str) -> Iterator[Hit]:
    shown = blanked(text)
    found = [(one, instead) for instead, pattern in HABITS.items() for one in pattern.finditer(shown)]
    found += [
        (one, "a noun or an imperative verb") for one in OPENING.finditer(shown) if "?" not in one["more"]
    ]
    for one, instead in sorted(found, key=lambda pair: pair[0].start()):
        around = text[max(0, one.start() - 75) : one.end() + 75].replace("\n", " ")
        yield Hit(page, text.count("\n", 0, one.start()) + 1, around, instead)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_pages_have_no_habit_of_the_list(page: Path) -> None:
    assert list(hits(page.name, page.read_text())) == []


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("The log tells why.", True), ("A table that was lent to Rust.", True),
        ("It stands in the file.", True), ("The bytes behind the header.", True),
        ("Its offsets were read anew.", True), ("It gives the code.", True),
        ("- What it does not know is listed.", True), ("What is a gap?", False),
        ("`told` is a column.", False),
        ("Use it besides the others.", False), ("```\nit tells\n```", False), ("[a page](told.md)", False),
    ],
)  # fmt: skip
def test_habits_are_found(text: str, is_one: bool) -> None:
    assert bool(list(hits("page", text))) == is_one
