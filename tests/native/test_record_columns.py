"""Records fields found and decoded by the compiled package give the tables and the anomalies of Python."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdissect.api import Dissection
from kdissect.decoders.records.programs import program
from kdissect.engine.held_fields import ENOUGH, LOOK
from kdissect.engine.record_sets import exchange_sections
from kdissect.model.anomaly import Anomaly
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.native import native
from kdissect.schema.registry import all_apis
from kdissect.schema.walk import has_records
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.batches import kafka_python_batch, kafka_python_messages
from tests.support.console import CAPTURES

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(
    native is None, reason="the compiled hot path is not installed, or KDISSECT_NATIVE=0"
)
NOW = 1_700_000_000_000
PRODUCE, FETCH_SNAPSHOT = 0, 59


def hold(tables: Any, exchanges: Iterable[Exchange]) -> list[Any]:
    """What tables make of exchanges, closed whenever they hold enough."""
    made = []
    for exchange in exchanges:
        taken = tables.held.take(exchange)
        is_enough = taken == ENOUGH
        found = exchange_sections(exchange) if taken == LOOK else None
        if found is not None and found[2] and found[2][0].position is None:
            is_enough = tables.held.add(exchange, *found[1:])
        if is_enough:
            made += tables.close()
    return [*made, *tables.close()]


def check(exchanges: Iterable[Exchange], names: Any = None) -> Any:
    """Hold both ways equal; the table."""
    from kdissect.engine.compiled_tables import CompiledTables
    from kdissect.engine.record_tables import RecordTables

    exchanges, files = list(exchanges), ["file"] * 9
    ours: list[Anomaly] = []
    theirs: list[Anomaly] = []
    compiled = CompiledTables(files, ours.extend, topic_name=names)
    plain = RecordTables(files, (None, None), theirs.extend, topic_name=names)
    made = pa.concat_tables([compiled.schema.empty_table(), *hold(compiled, exchanges)])
    expected = pa.concat_tables([plain.schema.empty_table(), *hold(plain, exchanges)])
    made.validate(full=True)
    for name in made.schema.names:
        assert values(made[name]) == values(expected[name]), name
    assert ours == theirs
    return made


def values(column: Any) -> list[Any]:
    """Values; times as numbers, as most 64-bit numbers are no `datetime`."""
    found: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return found


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*"))[::4], ids=lambda path: path.name)
def test_shipped_captures(path: Path) -> None:
    dissection = Dissection(str(path))
    check(dissection, lambda records: dissection.topics.name(
        records.exchange.connection, records.section.topic_id
    ))  # fmt: skip


def test_every_message_with_records_but_pieces_of_snapshots_has_a_program() -> None:
    for api in all_apis():
        for message in (api.request, api.response):
            if not has_records(message):
                continue
            for version in range(message.versions.first, message.versions.last + 1):
                assert (program(message, version) is None) == (api.key == FETCH_SNAPSHOT)


def produce(*fields: bytes, end: bytes = b"") -> Exchange:
    """A Produce request of version 3: transactional id, acks, timeout; one topic, a partition each field."""
    parts = [index.to_bytes(4) + len(each).to_bytes(4) + each for index, each in enumerate(fields)]
    body = b"\xff\xff\xff\xff\0\0\0\1\0\0\0\1\0\1t" + len(fields).to_bytes(4) + b"".join(parts) + end
    return asked(body)


def asked(body: bytes) -> Exchange:
    """An exchange with a Produce request of version 3."""
    info = ConnectionInfo("0" * 16, "", Endpoint("10.0.0.1", 1), Endpoint("10.0.0.2", 9092), NOW)
    frame = Frame(body, len(body), 1, 1, NOW * 10**6, NOW * 10**6)
    return Exchange(info, 0, PRODUCE, 3, 1, "client", frame, 0)


HEADERS: list[tuple[str, bytes | None]] = [("h", b"x"), ("none", None)]
BATCHES = [
    kafka_python_batch(codec=codec, samples=[
        (NOW + number, None if number % 3 == 0 else b"key", b"value %d" % number * size, headers)
        for number in range(count)
    ])
    for codec, count, size, headers in (
        (0, 1, 1, []), (0, 3, 40, HEADERS), (1, 5, 9, []), (3, 2, 1, HEADERS[:1]),
    )
]  # fmt: skip


def test_fields_that_fit_among_those_that_do_not_come_in_their_order() -> None:
    good, bad = BATCHES[0], BATCHES[1][:-1] + b"!"
    old = kafka_python_messages(magic=1, samples=[(NOW, b"k", b"v", [])])
    made = check([produce(good, bad, good + BATCHES[2]), produce(old, good[:40], good), produce(b"", good)])
    assert made["partition"].to_pylist() == [0, 1, 1, 2, 2, 2, 2, 2, 2, 0, 2, 1]
    assert made["number"].to_pylist() == list(range(1, len(made) + 1))


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(BATCHES), max_size=4), damage, st.floats(0, 1), st.booleans())
def test_damaged_and_cut_bodies(
    batches: list[bytes], changes: list[tuple[float, int]], cut: float, is_cut: bool
) -> None:
    frame = produce(b"".join(batches), *batches).request
    assert frame is not None
    body = bytearray(frame.data)
    for place, byte in changes:
        body[int(place * len(body))] = byte
    check([asked(bytes(body[: int(cut * len(body))] if is_cut else body))])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(BATCHES), damage)
def test_damaged_records_whose_checksum_is_right(batch: bytes, changes: list[tuple[float, int]]) -> None:
    from kdissect.decoders.records.checksum import crc32c

    broken = bytearray(batch)
    for place, byte in changes:
        broken[21 + int(place * (len(batch) - 21))] = byte
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4)
    check([produce(bytes(broken), batch)])
