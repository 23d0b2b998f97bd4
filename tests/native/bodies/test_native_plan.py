"""The rows of a message, and that nothing else is taken for them."""

from typing import Any

import pytest

from kdissect.decoders.generated.native_plan import FieldRow, layout_rows
from kdissect.decoders.generated.struct_layout import Layout
from kdissect.decoders.quirks import PRODUCE
from kdissect.model.native import native
from kdissect.schema import protocol_messages

needs_native = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
FETCH = 1


def test_the_rows_of_a_request_with_records() -> None:
    api = protocol_messages.api(PRODUCE)
    assert api is not None
    rows, structs, fields = layout_rows(Layout(api.request, 9))
    assert [of.name for of in structs] == ["ProduceRequest", "TopicProduceData", "PartitionProduceData"]
    assert [[field.name for field in each] for each in fields] == [
        ["transactional_id", "acks", "timeout_ms", "topic_data"],
        ["name", "partition_data"],
        ["index", "records"],
    ]
    assert rows == [
        (
            True,
            [
                ("transactional_id", "string", "", False, True, 0, b""),
                ("acks", "int16", "acks", False, False, 0, b""),
                ("timeout_ms", "int32", "", False, False, 0, b""),
                ("topic_data", "struct", "", True, False, 0, b""),
            ],
            [],
        ),
        (
            True,
            [
                ("name", "string", "topic", False, False, 0, b""),
                ("partition_data", "struct", "", True, False, 0, b""),
            ],
            [],
        ),
        (
            True,
            [
                ("index", "int32", "partition", False, False, 0, b""),
                ("records", "records", "", False, True, 0, b""),
            ],
            [],
        ),
    ]


def test_tagged_fields_stand_apart_and_their_structs_behind_those_of_the_others() -> None:
    api = protocol_messages.api(FETCH)
    assert api is not None
    rows, structs, _ = layout_rows(Layout(api.response, 12))
    _, fields, tagged = next(row for row, of in zip(rows, structs, strict=True) if of.name == "PartitionData")
    assert [name for name, *_ in fields][:2] == ["partition_index", "error_code"]
    assert [(name, tag) for name, *_, tag, _ in tagged] == [
        ("diverging_epoch", 0), ("current_leader", 1), ("snapshot_id", 2),
    ]  # fmt: skip
    names = [of.name for of in structs]
    assert names[-4:] == ["AbortedTransaction", "EpochEndOffset", "LeaderIdAndEpoch", "SnapshotId"]


def row(kind: str, role: str = "") -> FieldRow:
    return "a", kind, role, False, False, 0, b""


@needs_native
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(False, [row("int9")], [])],
        [(False, [row("int8", "none")], [])],
        [(False, [row("struct")], [])],
        [(False, [row("struct"), row("struct")], []), (False, [], [])],
        [(False, [], [row("struct")])],
        [(False, [], []), (False, [], [])],
        [(False, [], []), (False, [row("struct")], [])],
        [(False, [row("struct")], [])] * 60 + [(False, [], [])],
    ],
)
def test_rows_that_do_not_fit_together_are_refused(rows: Any) -> None:
    with pytest.raises(ValueError, match="not the rows of a message"):
        native.Layout(True, rows)


@needs_native
def test_classes_of_another_message_decode_nothing() -> None:
    layout = native.Layout(True, [(False, [row("int8")], [])])
    assert native.CanonicalBody(layout, [], 0, None, None, None).decode(b"\0\0", 0) is None
