"""Pages and messages keep to the part of CONTRIBUTING.md, Style, that a machine can check."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.console import CHECKOUT

PAGES = [
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").rglob("*.md")),
]
SOURCES = sorted((CHECKOUT / "kdissect").rglob("*.py"))
SCRIPT = re.compile(r"[{};]\s*$", re.MULTILINE)  # style sheets and scripts
MESSAGE_WORDS = 4  # a text of fewer words is a name, a key or a part of a message
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE_SPAN = re.compile(r"`[^`\n]*`")
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
    "again, next to, equal, or": habit("anew", r"(?<!-)beside(?!s|-)", "alike", "be it", "be they"),
    "returns, contains": habit(r"gives (?:the|a|an|what|its|up|none|whether|how)"),
}
# A sentence that begins so, and is no question, hides its subject. The two headings of rule pages may.
OPENING = re.compile(
    r"^(?:[-*] |\| |\d+\. )?(?!What (?:to do:|real software))(?:What|Who|Whoever|Whatever)\b(?P<more>.*)$",
    re.MULTILINE,
)


class Warned(NamedTuple):
    """A habit that a text may have now and then, and its bound in 1,000 words of pages and of messages."""

    instead: str
    pattern: re.Pattern[str]
    of_pages: float
    of_messages: float


WARNED = (
    Warned(
        "the active voice",
        re.compile(
            r"\b(?:is|are|was|were|be|been|being|not)"
            r" (?:given|taken|held|kept|had|lent|said|made|asked|brought|gone|shown)\b"
        ),
        0.6,
        0.8,
    ),
    Warned(
        "the noun",
        re.compile(
            r"\b(?:those|others|another|the other one|ones|such|the rest|the same|all else|whatever)"
            r"\b(?= ?(?:that|who|which|of|are|is|there|with|without|in|have|has|[,.;:)]))"
        ),
        0.8,
        0.9,
    ),
    Warned(
        "if",
        re.compile(
            r"\bwhere (?:no|nothing|none|nobody|neither|it is|they are|there (?:is|are|was|were))\b",
            re.IGNORECASE,
        ),
        0.2,
        0.2,
    ),
    Warned(
        "a negated verb",
        re.compile(
            r"\b(?:nobody|nowhere|none (?:is|are|has|have|of)"
            r"|nothing (?:is|was|has|can|to|else|but|that|new|of))\b",
            re.IGNORECASE,
        ),
        0.5,
        0.6,
    ),
    Warned(
        "a compound or a possessive",
        re.compile(r"\bof (?:[\w'-]+ ){1,3}of\b"),
        0.3,
        0.2,
    ),
    Warned("a number", re.compile(r"\b(?:so|that|such|as) (?:many|much|few)\b", re.IGNORECASE), 0.1, 0.1),
    Warned("a full stop", re.compile(r"[a-z)];\s+[a-z]"), 2.0, 1.5),
)


class Hit(NamedTuple):
    page: str
    line: int
    text: str
    instead: str


def blanked(text: str) -> str:
    """Replace code and the targets of links by blanks, so that positions and lines remain."""
    for pattern in (CODE_BLOCK, CODE_SPAN, LINK_TARGET):
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


def messages(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of each string of a module that is no docstring: help, messages, meanings of fields."""
    tree = ast.parse(source)
    inner = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                assert isinstance(node.body[0], ast.Expr)
                inner.add(id(node.body[0].value))
        elif isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        if id(node) not in inner and len(text.split()) >= MESSAGE_WORDS and not SCRIPT.search(text):
            yield node.lineno, text


def test_messages_have_no_habit_of_the_list() -> None:
    found = [
        (path.relative_to(CHECKOUT).as_posix(), line, one)
        for path in SOURCES
        for line, text in messages(path.read_text())
        for one in hits("", text)
    ]
    assert found == []


@pytest.mark.parametrize("warned", WARNED, ids=lambda warned: warned.instead)
def test_habits_are_rare(warned: Warned) -> None:
    pages = "\n".join(blanked(page.read_text()) for page in PAGES)
    texts = "\n\n".join(blanked(text) for path in SOURCES for _, text in messages(path.read_text()))
    for text, most in ((pages, warned.of_pages), (texts, warned.of_messages)):
        words = len(re.findall(r"[A-Za-z]+", text))
        found = [text[max(0, one.start() - 40) : one.end() + 40] for one in warned.pattern.finditer(text)]
        assert 1000 * len(found) / words <= most, (
            f"use {warned.instead}: {len(found)}, the last: {found[-20:]}"
        )


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
