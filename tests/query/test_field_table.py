"""Columns that `tables --fields` makes of names: their types, their structs, and what fits into a cell."""

from typing import Any

import pytest

from kdissect.engine.tables.shared_columns import ORDER, TIME
from kdissect.query.fields.field_table import chosen_fields, field_table

LARGEST = 2**63 - 1


def cell(name: str, value: Any) -> Any:
    """Return a value as the column of a name has it."""
    (chosen,) = chosen_fields([name])
    return chosen.fits(value)


@pytest.mark.parametrize(
    ("name", "type_", "cells"),
    [
        (
            "request.acks", "int64",
            [(3, 3), (LARGEST, LARGEST), (-LARGEST - 1, -LARGEST - 1), (LARGEST + 1, None),
             (-LARGEST - 2, None), ("3", None), (0.5, None), (None, None)],
        ),
        (
            "request.topics.partitions.partition", "list<int64>",
            [([1, "x", 2], [1, None, 2]), (5, [5]), (None, []), ((7, 8), [7, 8])],
        ),
        ("request.allow_auto_topic_creation", "bool", [(True, True), (False, False), (1, None)]),
        ("response.entries.values.value", "list<double>", [([1, 0.5, "x"], [1.0, 0.5, None])]),
        (
            "request.body", "string",
            [({"a": "ü"}, '{"a": "ü"}'), ("x", "x"), (None, None), ("\udc80", "?"),
             ({"a": b"b"}, '{"a": "b\'b\'"}')],
        ),
        ("request.time", "timestamp", [("2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"), (None, None)]),
        ("response.time", "timestamp", []),
        ("request.error", "string", []),
        ("topic", "list<string>", [(["a", "b"], ["a", "b"])]),
        ("anomalies.kind", "list<string>", [(["gap"], ["gap"])]),
        ("anomalies", "string", [([{"kind": "gap"}], '[{"kind": "gap"}]')]),
        ("batch.codec", "list<string>", []),
        ("closed.after_ns", "int64", []),
        ("correlation_id", "int32", []),
        ("throttle", "int32", []),
    ],
)  # fmt: skip
def test_cells(name: str, type_: str, cells: list[tuple[Any, Any]]) -> None:
    (chosen,) = chosen_fields([name, name])
    assert chosen.type == type_
    for value, fitting in cells:
        found = cell(name, value)
        assert (found, type(found)) == (fitting, type(fitting))


def test_the_table_has_structs_for_what_stands_behind_dots() -> None:
    table = field_table(["api", "request.topics.name", "request.acks", "connection", "event_order"])
    assert (table.name, table.doc) == (
        "fields", "One row for each exchange, with the fields that `--fields` names."
    )  # fmt: skip
    names = [field.name for field in table.fields]
    assert names.count("connection") == names.count("event_order") == 1
    at = names.index("request")
    assert names[:at] == [
        "capture_set", "connection", "exchange", "broker", *(field.name for field in TIME),
    ]  # fmt: skip
    assert names[at:] == [
        "request",
        "request.topics",
        "api",
        "request.topics.name",
        "request.acks",
        ORDER.name,
    ]
    types = {field.name: (field.type, field.doc) for field in table.fields}
    assert types["request"] == types["request.topics"] == ("struct", "what was chosen of it")
    assert types["request.topics.name"] == ("list<string>", "as `inspect -e` has it")
    assert (table.identity, table.order) == (("connection", "exchange"), ("event_order",))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["request.topics", "request.topics.name"],
         "request.topics is a column, so that request.topics.name cannot be one inside of it: leave one out"),
        (["request.acks", "request", "api"], "request is a column, so that request.acks cannot"),
        (["broker.ip"], "broker is a column, so that broker.ip cannot"),
        (["number"], "numbers of rows are in no table"),
    ],
)  # fmt: skip
def test_names_that_are_of_no_table(names: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        field_table(names)
