"""Text to nodes and back."""

import pytest

from kdissect.query.syntax.filter_parser import parse
from kdissect.query.syntax.filter_tokens import quote, tokenize, unescape
from kdissect.query.syntax.nodes import And, Compare, HasFinding, Not, Or, Present

ROUND = [
    ("api == Produce", "api == Produce"),
    ("api==Produce", "api == Produce"),
    ("  api  ==  Produce  ", "api == Produce"),
    ("a and b or c and not d", "(a and b) or (c and not d)"),
    ("a && b || c && !d", "(a and b) or (c and not d)"),
    ("a AND b Or NOT c", "(a and b) or not c"),
    ("a and (b or c)", "a and (b or c)"),
    ("not (a or b)", "not (a or b)"),
    ("not not a", "not not a"),
    ("!(!a)", "not not a"),
    ("((a))", "a"),
    ("api in (Produce,Fetch)", "api in (Produce, Fetch)"),
    ("client in 10.0.0.0/8", "client in (10.0.0.0/8)"),
    ("api not in (Produce)", "api not in (Produce)"),
    ("topic matches orders.*", "topic ~ orders.*"),
    ('topic !~ "a b"', 'topic !~ "a b"'),
    ("topic ~ 'it\\'s'", 'topic ~ "it\'s"'),
    ("topic contains ord", "topic contains ord"),
    ("any(topic) == a", "any(topic) == a"),
    ("count ( topics ) > 3", "count(topics) > 3"),
    ("has finding", "has finding"),
    ("has finding and error", "has finding and error"),
    ("has finding FRM006", "has finding FRM006"),
    ("has finding (FRM006, PRO)", "has finding (FRM006, PRO)"),
    ('client_id == "null"', 'client_id == "null"'),
    ("client_id == null", "client_id == null"),
    ("latency>50ms", "latency > 50ms"),
    ("time>=2026-11-21T09:06:44Z", "time >= 2026-11-21T09:06:44Z"),
    ("client == [::1]:9092", "client == [::1]:9092"),
    ('topic == "\\n\\x01\\u20ac"', 'topic == "\\n\\x01€"'.replace("\\n", "\\x0a")),
]


@pytest.mark.parametrize(("text", "printed"), ROUND)
def test_printed_form(text: str, printed: str) -> None:
    assert str(parse(text)) == printed
    assert str(parse(printed)) == printed


def test_and_binds_closer_than_or() -> None:
    node = parse("a or b and not c")
    assert isinstance(node, Or)
    first, second = node.items
    assert isinstance(first, Present)
    assert isinstance(second, And)
    assert isinstance(second.items[1], Not)


def test_chains_are_flat() -> None:
    node = parse(" and ".join(["a"] * 1000))
    assert isinstance(node, And)
    assert len(node.items) == 1000


def test_places_are_those_of_the_text() -> None:
    text = "a and count(topics) in (1, 22)"
    node = parse(text)
    assert isinstance(node, And)
    compare = node.items[1]
    assert isinstance(compare, Compare)
    assert text[compare.start : compare.end] == "count(topics) in (1, 22)"
    assert text[compare.name.start : compare.name.end] == "count(topics)"
    assert [text[v.start : v.end] for v in compare.values] == ["1", "22"]


def test_finding_codes() -> None:
    node = parse("has finding (A, B)")
    assert isinstance(node, HasFinding)
    assert [code.text for code in node.codes] == ["A", "B"]


def test_patterns_need_not_double_their_backslashes() -> None:
    assert unescape(r"\d+\.\\") == "\\d+\\.\\"
    assert unescape(r"\"\'\t\x41\u0042\q") == "\"'\tAB\\q"


def test_words_and_texts() -> None:
    assert [token.text for token in tokenize("a>=-1.5s&&!b")] == ["a", ">=", "-1.5s", "&&", "!", "b", ""]
    assert quote("orders.v1-x") == "orders.v1-x"
    assert quote("a b") == '"a b"'
    assert quote("") == '""'
