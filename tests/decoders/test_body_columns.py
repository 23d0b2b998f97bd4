"""Chosen fields of bodies as columns: what they mean, and that the compiled walk gives the same."""

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import kdissect
from kdissect.decoders.body_schemas import known_body
from kdissect.decoders.encoder import encode
from kdissect.decoders.generated.body_columns import BodyColumns, Chosen, DecodedColumns, body_columns
from kdissect.decoders.generated.projection import Path
from kdissect.decoders.quirks import may_answer_in_other_version
from kdissect.model.native import is_compiled
from kdissect.schema import protocol_messages
from kdissect.schema.types import Array, Message, Primitive, Struct, Type
from tests.conformance.random_values import ValueMaker, all_bodies
from tests.native.bodies.test_summaries import damaged
from tests.support.console import CAPTURES

FETCH, METADATA, OFFSET_COMMIT = 1, 3, 8
API_KEYS = sorted(protocol_messages.api_keys())
# Between them every API in nearly every version that brokers of three releases answer, and records.
NAMES = ("kafka28zk_franz_raw.pcapng", "kafka44_franz_raw.pcapng", "kafka44_java_share.pcapng")
needs_compiled = pytest.mark.skipif(not is_compiled, reason="no compiled hot path (docs/native.md)")


def both(message: Message, version: int, *chosen: Chosen) -> list[BodyColumns]:
    """Both ways, where there are two."""
    found: list[BodyColumns] = [DecodedColumns(message, version, chosen)]
    return [*found, body_columns(message, version, chosen)] if is_compiled else found


def body(key: int, is_response: bool) -> Message:
    message = known_body(key, 0, is_response) or known_body(key, 4, is_response)
    assert message is not None
    return message


def commits(*topics: dict[str, Any]) -> bytes:
    """An OffsetCommit request of version 8."""
    head = {"group_id": "g", "generation_id_or_member_epoch": 1, "member_id": "", "group_instance_id": None}
    return encode(body(OFFSET_COMMIT, False), 8, head | {"topics": list(topics)})


def partition(index: int, offset: int, metadata: str | None = None) -> dict[str, Any]:
    return {
        "partition_index": index, "committed_offset": offset, "committed_leader_epoch": -1,
        "committed_metadata": metadata,
    }  # fmt: skip


PARTITION = ("topics", "partitions")
COMMITS = (
    Chosen(("group_id",)),
    Chosen(("topics", "name")),
    Chosen((*PARTITION, "committed_offset")),
    Chosen((*PARTITION, "committed_metadata"), only_size=True),
    Chosen(("retention_time_ms",)),  # not in version 8
    Chosen(("group_instance_id",)),
)
TWO = commits(
    {"name": "a", "partitions": [partition(0, 5), partition(1, 6, "é")]}, {"name": "b", "partitions": []}
)


def test_values_stand_in_columns_and_lists_have_counts() -> None:
    for columns in both(body(OFFSET_COMMIT, False), 8, *COMMITS):
        assert columns.add(b"x" + TWO, 1)
        assert columns.add(commits({"name": "c", "partitions": [partition(2, 7, "")]}), 0)
        assert columns.add(commits(), 0)
        assert len(columns) == 3
        assert columns.take() == [
            ([], ["g", "g", "g"]),
            ([[2, 1, 0]], ["a", "b", "c"]),
            ([[2, 1, 0], [2, 0, 1]], [5, 6, 7]),
            ([[2, 1, 0], [2, 0, 1]], [None, 2, 0]),
            None,
            ([], [None, None, None]),
        ]
        assert len(columns) == 0
        assert columns.take()[:2] == [([], []), ([[]], [])]


def test_rows_are_those_of_the_innermost_list() -> None:
    for columns in both(body(OFFSET_COMMIT, False), 8, *COMMITS):
        assert columns.rows(b"x" + TWO, 1) == [("g", "a", 5, None, None, None), ("g", "a", 6, 2, None, None)]
        assert columns.rows(commits(), 0) == []
        assert len(columns) == 0


def test_a_body_that_does_not_fit_gives_nothing() -> None:
    for columns in both(body(OFFSET_COMMIT, False), 8, *COMMITS):
        assert columns.add(TWO, 0)
        for end in range(len(TWO)):
            assert not columns.add(TWO[:end], 0)
        assert columns.rows(TWO + b"\0", 0) is None
        assert not columns.add(TWO, len(TWO) + 9)
        assert not columns.add(TWO.replace("é".encode(), b"\xff\xff").replace(b"\x02a", b"\x02\xff"), 0)
        assert len(columns) == 1
        assert columns.take()[2] == ([[2], [2, 0]], [5, 6])


def test_tags_that_the_schema_knows_take_a_closer_look() -> None:
    message = body(FETCH, False)
    value = ValueMaker(message, 15, 1, unknown_tags=False).body()
    bare = {name: item for name, item in value.items() if name not in ("cluster_id", "replica_state")}
    tagged = bare | {"cluster_id": "c"}
    for columns in both(message, 15, Chosen(("max_wait_ms",)), Chosen(("cluster_id",))):
        assert not columns.add(encode(message, 15, tagged), 0)
        assert columns.add(encode(message, 15, bare), 0)
        assert columns.take() == [([], [value["max_wait_ms"]]), None]


def test_null_lists_and_structs_are_told_from_empty_ones() -> None:
    message = body(METADATA, False)
    for columns in both(message, 4, Chosen(("topics", "name"))):
        for topics in (None, [], [{"name": "t"}]):
            assert columns.add(encode(message, 4, {"topics": topics, "allow_auto_topic_creation": True}), 0)
        assert columns.take() == [([[None, 0, 1]], ["t"])]


@pytest.mark.parametrize("paths", [[("topics",)], [("group_id",), ("group_id",)]])
def test_paths_that_end_at_a_struct_or_stand_twice_are_refused(paths: list[Path]) -> None:
    chosen = [Chosen(path) for path in paths]
    with pytest.raises(ValueError, match=r"struct|twice"):
        body_columns(body(OFFSET_COMMIT, False), 8, chosen)
    with pytest.raises(ValueError, match=r"struct|twice"):
        DecodedColumns(body(OFFSET_COMMIT, False), 8, chosen)


def test_lists_beside_each_other_have_no_rows() -> None:
    message = body(METADATA, True)
    data = encode(message, 0, ValueMaker(message, 0, 3).body())
    for columns in both(message, 0, Chosen(("brokers", "node_id")), Chosen(("topics", "name"))):
        with pytest.raises(ValueError, match="beside"):
            columns.rows(data, 0)
        assert len(columns) == 0
        assert columns.add(data, 0)


def leaves(of: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """All fields that are no structs, of whatever version."""
    inner = of.element if isinstance(of, Array) else of
    if not isinstance(inner, Struct):
        yield path, inner
        return
    for field in inner.fields:
        yield from leaves(field.type, (*path, field.name))


@cache
def everything(message: Message, version: int) -> list[BodyColumns]:
    """All fields, sizes of some."""
    dice = random.Random(f"{message.name} {version}")
    found = dict(leaves(message.root))
    sizes = {
        p for p, of in found.items() if of in (Primitive.STRING, Primitive.BYTES) and dice.random() < 0.3
    }
    return both(message, version, *(Chosen(path, path in sizes) for path in found))


def check(message: Message, version: int, data: bytes, offset: int) -> bool:
    """Compare both ways over a body; whether they take it."""
    reference, compiled = everything(message, version)
    taken = reference.add(data, offset)
    assert compiled.add(data, offset) is taken, (message.name, version, data[offset:].hex())
    columns = reference.take()
    assert repr(compiled.take()) == repr(columns), (message.name, version, data[offset:].hex())
    return taken


@needs_compiled
@pytest.mark.parametrize("api_key", API_KEYS)
def test_the_compiled_walk_gives_what_decoded_bodies_have(api_key: int) -> None:
    dice = random.Random(api_key)
    for message, version in all_bodies():
        if message.api_key == api_key:
            for most in (1, 2):
                data = encode(message, version, ValueMaker(message, version, 5, most=most).body())
                check(message, version, b"pad" + data, 3)
            for changed in list(damaged(data, dice))[:120]:
                check(message, version, changed, 0)


@needs_compiled
def test_nearly_all_captured_bodies_are_taken() -> None:
    taken = refused = 0
    for name in NAMES:
        for exchange in kdissect.open(str(CAPTURES / name)):
            key, version = exchange.api_key, exchange.api_version
            for is_response, frame, offset in (
                (False, exchange.request, exchange.request_body_offset),
                (True, exchange.response, exchange.response_body_offset),
            ):
                message = None if key is None or version is None else known_body(key, version, is_response)
                if message is None or frame is None or not offset or key is None or version is None:
                    continue
                if is_response and may_answer_in_other_version(key):
                    continue
                fits = check(message, version, frame.data, offset)
                taken, refused = taken + fits, refused + (not fits)
    assert taken > 1500
    assert refused < taken / 20
