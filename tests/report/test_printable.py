"""Text from the wire made safe: which characters become escapes, and which escapes."""

import json
import unicodedata
from typing import Any

import pytest

from kdissect.report.json_pages import json_page
from kdissect.report.printable import field_text, inert_json, printable, terminal_json, whole_text

# Bidi_Control of Unicode (PropList.txt), by the class of the bidirectional algorithm, and the three marks.
EMBEDDINGS = frozenset({"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"})
MARKS = frozenset({"LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü", "plain ü"), ("\n\r\t", "\\n\\r\\t"), ("\x1b[", "\\x1b["), ("\x7f\x9b\xff", "\\x7f\\x9bÿ"),
        ("\u0100\u200b", "Ā\\u200b"), ("\u202e", "\\u202e"), ("\uffff", "\\uffff"),
        ("\U00010000\U000e0001", "\U00010000\\U000e0001"), ("\udc80\udcff", "\\x80\\xff"),
        ("\udc7f\udd00", "\\udc7f\\udd00"), ("\\", "\\"),
    ],
)  # fmt: skip
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert field_text(text) == (shown.replace("\\", "\\\\") if text == "\\" else shown)


def test_the_backslash_of_fields_is_doubled() -> None:
    assert field_text("a\\n\n") == "a\\\\n\\n"


def test_json_for_terminals_has_the_same_value() -> None:
    value = "ü\x7f\x9b\u202e\U000e0001"
    line = json.dumps(value, ensure_ascii=False).encode() + b"\n"
    shown = terminal_json(line)
    assert shown == '"ü\\u007f\\u009b\\u202e\\udb40\\udc01"\n'.encode()
    assert json.loads(shown) == value
    assert terminal_json(b'"a"\n"b"\n') == b'"a"\n"b"\n'


def test_json_escapes_the_controls_of_direction_and_nothing_else() -> None:
    for code in range(0x80, 0x2100):
        char = chr(code)
        is_control = unicodedata.bidirectional(char) in EMBEDDINGS or unicodedata.name(char, "") in MARKS
        assert inert_json(char) == (f"\\u{code:04x}" if is_control else char)
    assert inert_json("a\u061cb") == "a\\u061cb"


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ("a\ud7ff\ue000", "a\ud7ff\ue000"), ("\ud800\udfff", "\ufffd\ufffd"), (1, 1), (None, None),
        ({"\udc80": ["\udc80", ("x", "\udc80")]}, {"\ufffd": ["\ufffd", ["x", "\ufffd"]]}),
    ],
)  # fmt: skip
def test_lone_surrogates_are_replaced(value: Any, whole: Any) -> None:
    assert whole_text(value) == whole


def test_pages_are_ascii() -> None:
    assert json_page({"a": "ü\udc80"}) == '{\n  "a": "\\u00fc\\ufffd"\n}\n'
    assert json_page([1], indent=1) == "[\n 1\n]\n"
