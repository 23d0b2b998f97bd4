"""Nothing that a terminal would obey comes out of text from the wire."""

import json
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.report.cells import cell
from kdissect.report.printable import field_text, printable, terminal_json

# Control characters (C0, DEL, C1), and those that reorder or hide text.
DANGEROUS = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def test_examples() -> None:
    assert printable("plain ünï ✓") == "plain ünï ✓"
    assert printable("a\x1b[31mb\n\tc\x9b\u202e\U000e0001") == "a\\x1b[31mb\\n\\tc\\x9b\\u202e\\U000e0001"
    assert field_text("a\\b\tc") == "a\\\\b\\tc"


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters()))
def test_no_dangerous_character_is_left(text: str) -> None:
    assert not DANGEROUS.search(printable(text))
    assert not DANGEROUS.search(field_text(text))
    assert not DANGEROUS.search(cell([text, {text: text}]))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_field_text_can_be_taken_back(text: str) -> None:
    shown = field_text(text)
    assert re.sub(r"\\(\\|n|r|t|x..|u....|U.{8})", _unescape, shown) == text


def _unescape(match: re.Match[str]) -> str:
    word = match[1]
    short = {"\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
    return short[word] if word in short else chr(int(word[1:], 16))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_for_a_terminal_means_the_same(text: str) -> None:
    line = json.dumps({text: text}, ensure_ascii=False).encode() + b"\n"
    shown = terminal_json(line)
    assert json.loads(shown) == {text: text}
    assert not DANGEROUS.search(shown.decode().removesuffix("\n"))
