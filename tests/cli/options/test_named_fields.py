"""`-e`: names to values."""

from typing import Any

import pytest

from kdissect.cli.formats.jsonl import JsonFormat
from kdissect.cli.formats.named_fields import columns_of, needs_bodies, split_names
from kdissect.cli.options.output_options import OF_EXCHANGES
from kdissect.engine.exchange_rows import EXCHANGE_FIELDS
from kdissect.engine.row_columns import Column
from kdissect.report.cells import cell
from kdissect.session.exchange import State

ROW: dict[str, Any] = {
    "api": "Fetch",
    "request": {
        "bytes": 7,
        "body": {"topics": [{"name": "a", "parts": [{"n": 1}, {"n": 2}]}, {"name": "b", "parts": []}]},
    },
    "response": None,
    "errors": ["X", "Y"],
}


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("api", "Fetch", "Fetch"),
        ("errors", ["X", "Y"], "X,Y"),
        ("request.bytes", 7, "7"),
        ("response.bytes", None, ""),
        ("request.body.topics.name", ["a", "b"], "a,b"),
        ("request.body.topics.parts.n", [1, 2], "1,2"),
        ("request.body.nothing", None, ""),
        ("request.body.topics.nothing", [], ""),
    ],
)
def test_values(name: str, value: object, text: str) -> None:
    assert Column(name).value(ROW) == value
    assert cell(Column(name).value(ROW)) == text


def test_cells() -> None:
    assert cell(True) == "true"
    assert cell(0) == "0"
    assert cell({"a": [1, "é\t"]}) == '{"a":[1,"é\\\\t"]}'


def test_names() -> None:
    assert split_names(["a,b", "c", ",d,"]) == ["a", "b", "c", "d"]
    columns_of(
        ["api", "request.packets.first", "response.body.anything.at.all"], EXCHANGE_FIELDS, OF_EXCHANGES
    )
    for name in ("apis", "request.nothing", "body", ""):
        with pytest.raises(ValueError, match=r"^(no field|no API|.* is no field name)"):
            columns_of([name], EXCHANGE_FIELDS, OF_EXCHANGES)
    assert needs_bodies([Column("request.body.topics")])
    assert needs_bodies([Column("response.error")])
    assert not needs_bodies([Column("request.bytes"), Column("errors")])


def test_integers_over_64_bits_are_still_json() -> None:
    assert (
        JsonFormat([], False).line({"a": 2**70, "b": State.COMPLETE}) == b'{"a":%d,"b":"complete"}\n' % 2**70
    )
