"""The shipped schema breaks no rule, and each rule fires on a text that breaks it."""

from __future__ import annotations

import pytest

from kdissect.schema import protocol_messages
from kdissect.schema.schema_parser import parse_schema
from kdissect.schema.types import Api
from tests.schema.schema_lint import lint_apis, lint_messages, lint_tree

HEAD = "payload P  versions 0-3  flexible 2+\n"


def test_the_shipped_schema_is_clean() -> None:
    assert lint_tree() == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("payload P  versions 0+  flexible none\n", "P: a message's versions are a closed range"),
        ("payload P  versions 0-3  flexible 2-3\n", "P: flexible 2-3 neither"),
        ("payload P  versions 0-3  flexible 5+\n", "P: flexible 5+ neither"),
        (HEAD + "  A: int8  0+\n  A: int8  0+\n", "P: two fields are called A"),
        (HEAD + "  FooBar: int8  0+\n  fooBar: int8  0+\n", "P: FooBar and fooBar are both foo_bar"),
        (HEAD + "  A: int8  2+ tag 0\n  B: int8  2+ tag 0\n", "P: two fields have tag 0"),
        (HEAD + "  A: int8  2+ tag 1\n", "P: tags [1] do not count from 0"),
        (HEAD + "  A: int8  2+ tag 0\n  B: int8  2+ tag 2\n", "P: tags [0, 2] do not count from 0"),
        (HEAD + "  A: S  0+\n    B: int8  2+ tag 1\n", "P.A: tags [1] do not count from 0"),
        (HEAD + "  A: int8  1+ tag 0\n", "P.A: tagged in 1+, but flexible in 2+"),
        (HEAD + "  A: int8  2-3 tag 0 2+\n", "P.A: tagged in 2+, but on the wire in 2-3"),
        (HEAD + "  A: int8  2-1\n", "P.A: in no version"),
        (HEAD + "  A: int8  4+\n", "P.A: versions 4+ lie outside of the message's 0-3"),
        (HEAD + "  A: int8  0-4\n", "P.A: versions 0-4 reach outside of the message's 0-3"),
        (HEAD + "  A: S  1-2\n    B: int8  0+\n", "P.A.B: versions 0+ reach outside of the 1-2"),
        (HEAD + "  A: string?0+  1+\n", "P.A: null in 0+, but on the wire in 1+"),
        (HEAD + "  A: int8?  1+\n", "P.A: int8 cannot be null"),
        (HEAD + "  A: uuid?  1+\n", "P.A: uuid cannot be null"),
        (HEAD + "  A: string(null)  1+\n", "P.A: the default is null, but the field is never null"),
        (HEAD + "  A: []int8(null)  1+\n", "P.A: the default is null, but the field is never null"),
        (HEAD + "  A: int8(128)  1+\n", "P.A: the default 128 does not fit int8"),
        (HEAD + "  A: uint16(-1)  1+\n", "P.A: the default -1 does not fit uint16"),
        (HEAD + "  A: int32  1+ @error\n", "P.A: an error code is an int16"),
        (HEAD + "  A: int8  1+ @enum(colours)\n", "P.A: there is no enum colours"),
        (HEAD + "  A: string  1+ @enum(acks)\n", "P.A: the values of enum acks do not fit string"),
        (HEAD + "  A: int8  1+ @enum(groupState)\n", "P.A: the values of enum groupState do not fit int8"),
        (HEAD + "  A: []bytes  1+ @payload(text)\n", "P.A: only a bytes field holds a payload"),
        (HEAD + "  A: bytes  1+ @configValue\n", "P.A: the value of a config is a string"),
        (HEAD + "  A: S  0+ @secret\n    B: int8  0+\n", "P.A: an annotation describes a value"),
    ],
)
def test_each_rule_fires(text: str, problem: str) -> None:
    found = lint_messages(parse_schema(text, "f"))
    assert any(line.startswith(problem) for line in found), found


def test_a_shared_struct_covers_all_its_uses() -> None:
    text = HEAD + "  A: S  0-1\n  B: []S  2+\nstruct S\n  C: int8  0+\n"
    assert lint_messages(parse_schema(text, "f")) == []


VOTE = """\
request VoteRequest  key 52  versions 0-2  flexible 0+
response VoteResponse  key 52  versions 0-2  flexible 0+
"""


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("key 52", "key 53"), "Vote: keys 53 and 53 in the file of key 52"),
        (("VoteResponse", "AnswerResponse"), "Vote: holds VoteRequest and AnswerResponse"),
        (
            ("VoteResponse  key 52  versions 0-2", "VoteResponse  key 52  versions 0-1"),
            "Vote: request and response",
        ),
        (
            ("Response  key 52  versions 0-2  flexible 0+", "Response  key 52  versions 0-2  flexible none"),
            "Vote: req",
        ),
        (("versions 0-2", "versions 0-3"), "Vote: releases.table knows other versions than 0-3"),
        (("versions 0-2", "versions 1-2"), "Vote: releases.table knows other versions than 1-2"),
    ],
)
def test_each_rule_for_apis_fires(change: tuple[str, str], problem: str) -> None:
    request, response = parse_schema(VOTE.replace(*change), "f")
    found = lint_apis([Api(52, "Vote", request, response)])
    assert any(line.startswith(problem) for line in found), found


def test_a_name_that_is_not_the_files_fires() -> None:
    api = protocol_messages.api(52)
    assert api is not None
    found = lint_apis([api._replace(key=53), api._replace(key=999), api._replace(name="Poll")])
    assert "Vote: its file is called BeginQuorumEpoch" in found
    assert "Vote: called BeginQuorumEpoch in releases.table" in found
    assert "Vote: not in releases.table" in found
    assert "Poll: its file is called Vote" in found
