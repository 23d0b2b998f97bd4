"""Pages and messages keep to the part of CONTRIBUTING.md, Style, that a machine can check."""

import ast
import functools
import inspect
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
        0.3,
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


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            assert isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            yield node.body[0].value


def strings(source: str, *, documentation: bool) -> Iterator[tuple[int, str]]:
    """Yield line and text of a module's docstrings, or of its other strings of some words.

    The other strings are help, messages and meanings of fields.
    """
    tree = ast.parse(source)
    if documentation:
        yield from ((node.lineno, inspect.cleandoc(str(node.value))) for node in docstrings(tree))
        return
    inner = {id(node) for node in docstrings(tree)}
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inner.update(id(part) for whole in joined for part in ast.walk(whole) if part is not whole)
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
        if len(text.split()) >= MESSAGE_WORDS and not SCRIPT.search(text):
            yield node.lineno, text


@pytest.mark.parametrize("documentation", [False, True], ids=["messages", "docstrings"])
def test_sources_have_no_habit_of_the_list(documentation: bool) -> None:
    found = [
        (path.relative_to(CHECKOUT).as_posix(), line, one)
        for path in SOURCES
        for line, text in strings(path.read_text(), documentation=documentation)
        for one in hits("", text)
    ]
    assert found == []


@functools.cache
def prose() -> tuple[str, str]:
    """All pages, and all messages, without code."""
    pages = "\n".join(blanked(page.read_text()) for page in PAGES)
    texts = "\n\n".join(
        blanked(text) for path in SOURCES for _, text in strings(path.read_text(), documentation=False)
    )
    return pages, texts


@pytest.mark.parametrize("warned", WARNED, ids=lambda warned: warned.instead)
def test_habits_are_rare(warned: Warned) -> None:
    for text, most in zip(prose(), (warned.of_pages, warned.of_messages), strict=True):
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
