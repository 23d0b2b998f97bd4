"""Every statement of spec/001 5.3 and 5.4 is shown by a test that cites it, or listed with the reason."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.console import CHECKOUT

TABLE = Path(__file__).parent / "spec_001.tsv"
ROWS = [
    tuple(line.split("\t")) for line in TABLE.read_text().splitlines() if line and not line.startswith("#")
]
PARTS_OF_5_4 = ("Writes", "Reads", "Deletes", "Guarantees")
REASONS = ("history", "broker", "text")
# Code blocks, headings, paragraphs.
PIECES = re.compile(r"(```.*?```|^#+ [^\n]*|\n\s*\n)", re.DOTALL | re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.:])\s+(?=[A-Z\-(\[!])")


def statements(text: str) -> list[tuple[str, str]]:
    """Section and first words of each sentence; of a code block its first name."""
    found = []
    section = ""
    for piece in map(str.strip, PIECES.split(text)):
        if piece.startswith("#"):
            title = re.sub(r"\s*\{.*", "", piece).strip("# ")
            section = title if title in PARTS_OF_5_4 else title.split()[0]
        elif piece.startswith("```"):
            found.append((section, f"(layout) {piece.split()[1]}"))
        elif piece:
            found += [(section, first_words(sentence)) for sentence in SENTENCE_END.split(piece)]
    return found


def first_words(sentence: str) -> str:
    return " ".join(re.sub(r"^[-\s*]+", "", sentence.replace("\\", "")).split()[:3])


def test_no_statement_is_left_out(reference: Path) -> None:
    text = (reference / "spec" / "001-implementation-message-formats.md").read_text()
    text = text[text.index("## 5.3 ") : text.index("## 5.5 ")]
    assert [row[:2] for row in ROWS] == statements(text)


SHOWN = sorted({(row[0], test) for row in ROWS for test in row[2].split() if "::" in test})


@pytest.mark.parametrize(("section", "test"), SHOWN)
def test_what_shows_a_statement_cites_its_section(section: str, test: str) -> None:
    path, _, name = test.partition("::")
    module = ast.parse((CHECKOUT / "tests" / path).read_text())
    (function,) = (node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name)
    cited = f"{ast.get_docstring(module)} {ast.get_docstring(function)}"
    assert ("5.4" if section in PARTS_OF_5_4 else section) in cited


def test_what_is_not_shown_has_a_reason() -> None:
    assert len(ROWS) == 100
    for row in ROWS:
        assert "::" in row[2] or row[2].startswith(REASONS)
