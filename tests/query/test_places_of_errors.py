"""Where a message about a filter points to, in long filters and in letters of any width."""

from contextlib import suppress

import pytest

from kdissect.query import FilterError, compile_filter
from kdissect.query.syntax.filter_errors import SHOWN
from kdissect.query.syntax.filter_parser import Expectation, Expected, Parser
from kdissect.query.syntax.filter_tokens import TokenKind, quoted, tokenize


def error_of(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "start", "end", "why"),
    [
        ("(api == Produce Fetch)", 16, 21, "'Fetch' cannot follow here"),
        ("(api == Produce 'x')", 16, 19, "a text cannot follow here"),
        ("api == Produce )", 15, 16, "this parenthesis was never opened"),
        ("error and (api == Fetch", 10, 11, "this parenthesis is never closed"),
        ("latency > 5 MS", 12, 14, "'MS' cannot follow here"),
        ("request.bytes > 5 KiB", 18, 21, "'KiB' cannot follow here"),
        ("", 0, 1, "the filter is empty"), ("error or", 8, 9, "a field is missing at the end"),
        ("error or (", 10, 11, "a field is missing at the end"),
        ("error or in", 9, 11, "a field must stand here, not 'in'"),
        ("error and 'x'", 10, 13, "a field must stand here, not 'x'"),
        ("any(topic", 0, 3, "any( is never closed"),
        ("error and count('x')", 16, 19, "count() takes a field"),
        ("topic not == x", 6, 9, "'not' after a field goes with 'in'"),
        ("api in (Fetch", 7, 8, "this parenthesis is never closed"),
        ("api in (Fetch Produce)", 14, 21, "values are separated by commas"),
        ("api == )", 7, 8, "a value is missing before ')'"),
        ("api ==", 6, 7, "a value is missing at the end"),
        ("has x", 4, 5, "'finding' must follow 'has'"), ("error and 'a", 10, 11, "the quote is never closed"),
        ("error ; x", 6, 7, "';' cannot stand here"), ("a === b", 2, 5, "no operator '==='"),
        ("api is x", 4, 6, "no operator 'is'"), ("any(latncy) > 1ms", 4, 10, "no field 'latncy'"),
        ("latency > 5", 10, 11, "'5' needs a unit"), ("api in (Fetch, x)", 15, 16, "no API 'x'"),
        ("error and client_id > a", 10, 23, "client_id has no order"),
        ("client_id in (a, null)", 14, 15, "null goes with == and != only"),
        ("request.topics.partitions > x", 0, 29,
         "request.topics.partitions is a struct, it has no value to compare"),
        ("count(topics) and error", 0, 13, "count() must be compared with a value"),
    ],
)  # fmt: skip
def test_places(text: str, start: int, end: int, why: str) -> None:
    error = error_of(text)
    assert (error.start, error.end, error.why, error.column) == (start, end, why, start + 1)


@pytest.mark.parametrize(
    ("before", "indent"),
    [("a", 1), ("日本", 4), ("é", 1), ("e\u0301", 1), ("\uff21\uff22", 4), ("\x1b", 1), ("ｱ", 1)],
)
def test_carets_stand_below_wide_letters(before: str, indent: int) -> None:
    """Unicode, UAX 11: wide and fullwidth letters take two cells, combining marks none."""
    error = FilterError("why", f"{before}xy", len(before), len(before) + 2, "hint")
    first, _, carets = error.render().splitlines()
    assert first == f"column {len(before) + 1}: why; hint"
    assert carets == "  " + " " * indent + "^^"
    wide = FilterError("why", before, 0, len(before)).render().splitlines()[-1]
    assert wide == "  " + "^" * indent


@pytest.mark.parametrize(
    ("start", "end", "first", "carets"),
    [(0, 3, 0, 3), (49, 50, 0, 1), (50, 51, 0, 1), (51, 52, 1, 1), (150, 170, 100, 20), (150, 400, 100, 50)],
)
def test_a_part_of_long_filters(start: int, end: int, first: int, carets: int) -> None:
    text = "".join(chr(ord("a") + at % 26) for at in range(500))
    _, line, below = FilterError("why", text, start, end).render().splitlines()
    assert line == "  " + text[first : first + SHOWN]
    assert below == "  " + " " * (start - first) + "^" * carets


def test_the_smallest_place_is_one_letter() -> None:
    assert FilterError("why", "abc", 1, 0).end == FilterError("why", "abc", 1, 1).end == 2
    assert FilterError("why", "abc", 1, 3).end == 3
    assert str(FilterError("wh\ty", "abc", 2, 3)) == "column 3: wh?y"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a>=b", [("a", 0, 1), (">=", 1, 3), ("b", 3, 4), ("", 4, 4)]),
        (" \t'a b'\n", [("a b", 2, 7), ("", 8, 8)]),
        (r'"\"" x', [('"', 0, 4), ("x", 5, 6), ("", 6, 6)]),
        (r'"\\"x', [("\\", 0, 4), ("x", 4, 5), ("", 5, 5)]),
        ("a!~b!=c", [("a", 0, 1), ("!~", 1, 3), ("b", 3, 4), ("!=", 4, 6), ("c", 6, 7), ("", 7, 7)]),
        ("!a", [("!", 0, 1), ("a", 1, 2), ("", 2, 2)]),
        ("(a,b)", [("(", 0, 1), ("a", 1, 2), (",", 2, 3), ("b", 3, 4), (")", 4, 5), ("", 5, 5)]),
        ("''", [("", 0, 2), ("", 2, 2)]),
    ],
)  # fmt: skip
def test_tokens(text: str, tokens: list[tuple[str, int, int]]) -> None:
    found = tokenize(text)
    assert [token[1:] for token in found] == tokens
    assert found[-1].kind is TokenKind.END


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('a"b', r'"a\"b"'), ("a\\b", r'"a\\b"'), ("a b", '"a b"'), ("\n\x7f", r'"\x0a\x7f"'),
        ("\u00ad\u200b", r'"\xad\u200b"'), ("ü日", '"ü日"'),
        ("\U000e0001", '"\U000e0001"'), ("\uffff", r'"\uffff"'),
    ],
)  # fmt: skip
def test_quoted(text: str, written: str) -> None:
    assert quoted(text) == written
    assert tokenize(written)[0].text == text


F, OP, V, J, C = (Expected.FIELD, Expected.OPERATOR, Expected.VALUE, Expected.JOINER, Expected.CLOSING)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [(F, "", "")]), ("api", [(OP, "api", ""), (J, "", "")]), ("api ==", [(V, "api", "==")]),
        ("api matches", [(V, "api", "~")]), ("api == x", [(J, "", "")]),
        ("(api == x", [(J, "", ""), (C, "", "")]), ("any(", [(F, "", "")]), ("any(api", [(C, "", "")]),
        ("any(api)", [(OP, "api", ""), (J, "", "")]), ("api not in (x,", [(V, "api", "not in")]),
        ("api in (x", [(C, "", "")]), ("has", [(Expected.FINDING, "", "")]),
        ("has finding", [(Expected.CODE, "", ""), (J, "", "")]), ("has finding (", [(Expected.CODE, "", "")]),
        ("not", [(F, "", "")]), ("error and", [(F, "", "")]), ("error &&", [(F, "", "")]),
    ],
)  # fmt: skip
def test_what_is_expected_at_the_end(text: str, expected: list[tuple[str, str, str]]) -> None:
    parser = Parser(text)
    with suppress(FilterError):
        parser.whole()
    assert parser.expected == [Expectation(*each) for each in expected]
