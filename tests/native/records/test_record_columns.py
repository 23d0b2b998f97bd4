"""Records fields found and decoded by the compiled package give the tables and the anomalies of Python."""

import gzip
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from kdissect.api import Dissection
from kdissect.decoders.compression import gzip as compression_gzip
from kdissect.decoders.compression.lz4 import xxh32
from kdissect.decoders.records.checksum import crc32c
from kdissect.engine.records import compiled_records
from kdissect.engine.records.acquired import SHARE_FETCH
from kdissect.engine.records.compiled_records import ENOUGH, LOOK, way
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.model.anomaly import Anomaly, AnomalyKind
from kdissect.model.endpoint import Endpoint
from kdissect.model.frame import Frame
from kdissect.model.limits import DEFAULT_LIMITS, Limits, use
from kdissect.model.native import native
from kdissect.schema.all_fields import has_records
from kdissect.schema.protocol_messages import all_apis
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from tests.support.console import CAPTURES
from tests.support.messages.batches import kafka_python_batch, kafka_python_messages

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(native is None, reason="no compiled hot path (docs/native.md)")
NOW = 1_700_000_000_000
PRODUCE, FETCH_SNAPSHOT = 0, 59


def hold(tables: Any, exchanges: Iterable[Exchange]) -> list[Any]:
    """Return what tables make of exchanges, closed whenever they hold enough."""
    made = []
    for exchange in exchanges:
        taken = tables.take_exchange(exchange)
        is_enough = taken == ENOUGH
        for records in _sets(exchange) if taken == LOOK else ():
            is_enough |= tables.add(records)
        if is_enough:
            made += tables.close()
    return [*made, *tables.close()]


def _sets(exchange: Exchange) -> list[RecordSet]:
    """But for pieces of snapshots, which know what stands before them."""
    return [records for records in record_sets(exchange) if records.records_field.position is None]


def compiled_tables(report: Any, names: Any = None) -> Any:
    """Return what holds and decodes records."""
    from kdissect.engine.records.compiled_tables import CompiledTables
    from kdissect.engine.records.row_tables import table_rows

    files = ["file"] * 9
    rows = table_rows(files, (None, None), topic_name=names)
    return CompiledTables(schema(), (None, None), files, rows, report, fail, names).records


def fail(error: Exception, _exchange: Exchange) -> None:
    """Nothing goes wrong."""
    raise error


def schema() -> Any:
    """Return the schema of all columns."""
    from kdissect.engine.records.record_schema import arrow_schema

    return arrow_schema(None, None)


def check(exchanges: Iterable[Exchange], names: Any = None) -> Any:
    """Hold both ways equal; the table."""
    from kdissect.engine.records.row_tables import arrow_row, in_tables, table_rows

    exchanges = list(exchanges)
    ours: list[Anomaly] = []
    theirs: list[Anomaly] = []
    empty = schema().empty_table()
    made = pa.concat_tables([empty, *hold(compiled_tables(ours.extend, names), exchanges)])
    rows = table_rows(["file"] * 9, (None, None), topic_name=names)
    found = (
        arrow_row(row)
        for exchange in exchanges
        for records in _sets(exchange)
        for row in rows.rows(records, theirs)
    )
    expected = pa.concat_tables([empty, *in_tables(found, schema())])
    made.validate(full=True)
    for name in made.schema.names:
        assert values(made[name]) == values(expected[name]), name
    assert ours == theirs
    return made


def values(column: Any) -> list[Any]:
    """Return values; times as numbers, as most 64-bit numbers are no `datetime`."""
    found: list[Any] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return found


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*"))[::4], ids=lambda path: path.name)
def test_shipped_captures(path: Path) -> None:
    dissection = Dissection(str(path))
    check(dissection, lambda records: dissection.topics.name(
        records.exchange.connection, records.records_field.topic_id
    ))  # fmt: skip


def test_records_but_those_that_go_by_rows_are_found_by_the_compiled_walk() -> None:
    for api in all_apis():
        holds = has_records(api.request) or has_records(api.response)
        for version in range(api.versions.first, api.versions.last + 1):
            found = way(api.key, version)
            assert (found is not None) == holds
            if found is not None:
                (is_response, _, layout), answer = found
                assert is_response == has_records(api.response)
                assert (layout is None) == (api.key in (FETCH_SNAPSHOT, SHARE_FETCH))
                assert (answer is not None) == (api.key == PRODUCE)


def produce(*fields: bytes, end: bytes = b"") -> Exchange:
    """Return a Produce request of version 3: transactional id, acks, timeout; one topic, a partition each
    field.
    """
    parts = [index.to_bytes(4) + len(each).to_bytes(4) + each for index, each in enumerate(fields)]
    body = b"\xff\xff\xff\xff\0\0\0\1\0\0\0\1\0\1t" + len(fields).to_bytes(4) + b"".join(parts) + end
    return asked(body)


def asked(body: bytes) -> Exchange:
    """Return an exchange with a Produce request of version 3."""
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
        (0, 1, 1, []), (0, 3, 40, HEADERS), (1, 5, 9, []), (3, 2, 1, HEADERS[:1]), (4, 3, 40, HEADERS),
    )
]  # fmt: skip


def test_fields_that_fit_among_those_that_do_not_come_in_their_order() -> None:
    good, bad = BATCHES[0], BATCHES[1][:-1] + b"!"
    old = kafka_python_messages(magic=1, samples=[(NOW, b"k", b"v", [])])
    made = check([produce(good, bad, good + BATCHES[2]), produce(old, good[:40], good), produce(b"", good)])
    assert made["partition"].to_pylist() == [0, 1, 1, 2, 2, 2, 2, 2, 2, 0, 2, 1]
    assert made["number"].to_pylist() == list(range(1, len(made) + 1))


def test_fields_by_rows_that_follow_each_other_are_one_table() -> None:
    good, old = BATCHES[0], kafka_python_messages(magic=1, samples=[(NOW, b"k", b"v", [])])
    noted: list[Anomaly] = []
    made = hold(compiled_tables(noted.extend), [*[produce(old)] * 5, produce(good), produce(old, old)])
    assert [table.num_rows for table in made] == [5, 1, 2]
    assert pa.concat_tables(made)["number"].to_pylist() == list(range(1, 9))


def compressed(codec: int, content: bytes) -> bytes:
    """Return the first batch with its records as they are given, of a codec."""
    head = bytearray(BATCHES[0][:61])
    head[8:12] = (49 + len(content)).to_bytes(4)
    head[21:23] = codec.to_bytes(2)
    head[17:21] = crc32c(bytes(head[21:]) + content).to_bytes(4)
    return bytes(head) + content


RECORD = BATCHES[0][61:]
LONG = kafka_python_batch([(NOW, None, Random(1).randbytes(1 << 17), [])])[61:]


def raw_snappy(content: bytes) -> bytes:
    """Return one block."""
    return bytes(cramjam.snappy.compress_raw(content))


def xerial(*blocks: bytes) -> bytes:
    """Blocks as snappy-java writes them."""
    return b"\x82SNAPPY\0" + bytes(8) + b"".join(len(block).to_bytes(4) + block for block in blocks)


def with_size(frame: bytes, size: int) -> bytes:
    """Return a frame of lz4 that states another content size, with the header checksum that belongs to it."""
    head = frame[4:6] + size.to_bytes(8, "little")
    return frame[:4] + head + bytes((xxh32(head) >> 8 & 0xFF,)) + frame[15:]


@pytest.fixture
def asked_codecs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Codecs of batches that Python was asked to decompress."""
    codecs: list[int] = []

    def decompress(codec: int, data: bytes, most: int) -> bytes | None:
        codecs.append(codec)
        return python(codec, data, most)

    python = compiled_records.BATCH_QUESTIONS.decompress
    asked = compiled_records.BATCH_QUESTIONS._replace(decompress=decompress)
    monkeypatch.setattr(compiled_records, "BATCH_QUESTIONS", asked)
    return codecs


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("batch", "is_asked"),
    [
        (BATCHES[0], False),
        (compressed(3, lz4.frame.compress(RECORD)), False),
        (compressed(3, lz4.frame.compress(RECORD, store_size=False)), False),
        (compressed(3, with_size(lz4.frame.compress(RECORD), 1 << 40)), True),
        (compressed(3, lz4.frame.compress(RECORD)[:-5]), True),
        (compressed(4, ZstdCompressor().compress(RECORD)), False),
        (compressed(4, ZstdCompressor(write_content_size=False).compress(RECORD)), False),
        (compressed(4, ZstdCompressor(write_content_size=False).compress(LONG)), True),
        (compressed(4, ZstdCompressor().compress(RECORD[:5]) + ZstdCompressor().compress(RECORD[5:])), True),
        (compressed(4, ZstdCompressor().compress(RECORD)[:-1]), True),
        (compressed(1, gzip.compress(RECORD, mtime=0)), False),
        (compressed(1, gzip.compress(RECORD[:5], mtime=0) + gzip.compress(RECORD[5:], mtime=0)), True),
        (compressed(1, gzip.compress(RECORD, mtime=0)[:-1]), True),
        (
            compressed(1, gzip.compress(RECORD, mtime=0)[:-5] + b"!" + gzip.compress(RECORD, mtime=0)[-4:]),
            True,
        ),
        (compressed(1, gzip.compress(RECORD, mtime=0) + b"!"), True),
        (compressed(1, gzip.compress(bytes(1 << 20), mtime=0)), True),
        (compressed(2, raw_snappy(RECORD)), False),
        (compressed(2, xerial(raw_snappy(RECORD))), False),
        (compressed(2, xerial(raw_snappy(RECORD[:9]), raw_snappy(RECORD[9:]))), True),
        (compressed(2, xerial(raw_snappy(RECORD))[:-1]), True),
        (compressed(2, raw_snappy(RECORD)[:-1]), True),
        (compressed(2, b"\xff\xff\xff\xff\x0f" + raw_snappy(RECORD)[1:]), True),
        (compressed(2, b"\xff" * 9), True),
    ],
    ids=[
        "none",
        "lz4",
        "lz4 without its size",
        "lz4 that claims to hold a terabyte",
        "lz4 that is cut",
        "zstd",
        "zstd without its size",
        "zstd without its size, and long",
        "two frames of zstd",
        "zstd that is cut",
        "gzip",
        "two members of gzip",
        "gzip that is cut",
        "gzip with a wrong checksum",
        "gzip with a byte behind it",
        "gzip that grows more than is usual",
        "snappy",
        "snappy in the framing of Java",
        "two blocks of it",
        "a block that is cut",
        "snappy that is cut",
        "snappy that claims to hold 4 GB",
        "snappy without its size",
    ],
)
def test_python_is_asked_where_records_are_compressed_in_a_rare_way(
    asked_codecs: list[int], batch: bytes, is_asked: bool
) -> None:
    check([produce(batch, BATCHES[0])])
    assert bool(asked_codecs) == is_asked


def test_gzip_is_left_to_python_where_it_has_a_faster_library(
    asked_codecs: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = compressed(1, gzip.compress(LONG, mtime=0))
    monkeypatch.setattr(compression_gzip, "_fast", zlib)
    check([produce(batch)])
    assert asked_codecs == [1]
    monkeypatch.setattr(compression_gzip, "_fast", None)
    check([produce(batch)])
    assert asked_codecs == [1]


def with_end(raw: bytes) -> bytes:
    """Return a member of gzip whose checksum and length are those of what zlib makes of `raw`, where it takes
    it.
    """
    inflate = zlib.decompressobj(-15)
    try:
        content = inflate.decompress(raw, 1 << 20)
    except zlib.error:
        content = b""
    return (
        b"\x1f\x8b\x08"
        + bytes(7)
        + raw
        + zlib.crc32(content).to_bytes(4, "little")
        + len(content).to_bytes(4, "little")
    )


def deflated(content: bytes) -> bytes:
    """Raw deflate (RFC 1951)."""
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(content) + stream.flush()


# A value of runs and of bytes that are never again: what is damaged in it leaves the record as it is.
MIXED = kafka_python_batch([(NOW, b"k", b"ab" * 60 + bytes(range(256)) + b"value " * 50, [])])[61:]
BLOCKS: dict[str, tuple[int, bytes, Callable[[bytes], bytes]]] = {
    "gzip": (1, gzip.compress(MIXED, mtime=0), bytes),
    "deflate": (1, deflated(MIXED), with_end),
    "snappy": (2, raw_snappy(MIXED), bytes),
    "xerial": (2, raw_snappy(MIXED), xerial),
    "lz4": (3, lz4.frame.compress(MIXED, store_size=False), bytes),
    "zstd": (4, ZstdCompressor().compress(MIXED), bytes),
    "zstd without its size": (4, ZstdCompressor(write_content_size=False).compress(MIXED), bytes),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", BLOCKS)
@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0), st.integers(0, 3), st.binary(min_size=1, max_size=3)), max_size=3),
    st.booleans(),
)
def test_damaged_blocks_become_what_python_makes_of_them(
    name: str, changes: list[tuple[int, int, bytes]], is_cut: bool
) -> None:
    codec, block, framed = BLOCKS[name]
    for place, removed, added in changes:
        at = place % len(block)
        block = block[:at] + added + block[at + removed :]
    check([produce(compressed(codec, framed(block[:-1] if is_cut else block)), BATCHES[0])])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_with_one_byte_changed_become_what_python_makes_of_them(name: str) -> None:
    """Each byte of a block in turn: some of them are still blocks, of something else."""
    codec, block, framed = BLOCKS[name]
    for at in range(len(block)):
        changed = block[:at] + bytes((block[at] ^ 1 << at % 8,)) + block[at + 1 :]
        check([produce(compressed(codec, framed(changed)))])


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("dictionary", [0, 1, 2, 3])
@pytest.mark.parametrize("is_single", [False, True])
def test_sizes_that_frames_of_zstd_tell(
    asked_codecs: list[int], width: int, dictionary: int, is_single: bool
) -> None:
    """RFC 8878 section 3.1.1.1: all forms of the header, before one block that is not compressed."""
    record = kafka_python_batch([(NOW, None, b"x" * (300 if width > 1 else 200), [])])[61:]
    size = len(record) - (256 if width == 2 else 0)
    flags = {1: 0, 2: 1, 4: 2, 8: 3}[width] << 6 | is_single << 5 | dictionary
    told = b"" if width == 1 and not is_single else size.to_bytes(width, "little")
    block = (len(record) << 3 | 1).to_bytes(3, "little") + record
    head = bytes((flags,)) + (b"" if is_single else b"\x50") + bytes((0, 1, 2, 4)[dictionary]) + told
    made = check([produce(compressed(4, b"\x28\xb5\x2f\xfd" + head + block))])
    assert len(made) == 1
    assert not asked_codecs


@pytest.mark.parametrize("codec", [3, 4])
def test_limits_that_are_set_between_groups_hold(codec: int) -> None:
    compress = lz4.frame.compress if codec == 3 else ZstdCompressor().compress
    batch = compressed(codec, compress(RECORD))
    faults: list[Anomaly] = []
    tables = compiled_tables(faults.extend)
    assert [len(table) for table in hold(tables, [produce(batch)])] == [1]
    assert not faults
    use(Limits(batch_bytes=len(RECORD) - 1))
    try:
        hold(tables, [produce(batch)])
    finally:
        use(DEFAULT_LIMITS)
    assert [fault.kind for fault in faults] == [AnomalyKind.DECOMPRESSION_LIMIT]


def test_memory_that_is_used_again_has_nothing_of_what_was_there() -> None:
    rows = [(NOW, None, b"long " * 99, HEADERS), (NOW, b"k", None, []), (NOW, b"", b"", HEADERS[:1])]
    fields = [
        [kafka_python_batch(codec=codec, samples=part)]
        for codec, part in ((3, rows), (0, rows[1:]), (4, rows[:1]))
    ]
    fields += [[kafka_python_batch(samples=[(NOW, b"k", bytes(300_000), [])] * 3)], [BATCHES[0]]]
    tables = compiled_tables(list[Anomaly]().extend)
    for field in fields:
        again = pa.concat_tables(hold(tables, [produce(*field)]))
        again.validate(full=True)
        fresh = pa.concat_tables(hold(compiled_tables(list[Anomaly]().extend), [produce(*field)]))
        assert again.drop_columns(["number"]).equals(fresh.drop_columns(["number"]))


def test_memory_of_values_is_used_again_when_nobody_has_it() -> None:
    tables = compiled_tables(list[Anomaly]().extend)

    def values_of(content: bytes) -> Any:
        (table,) = hold(tables, [produce(kafka_python_batch(samples=[(NOW, b"k", content, [])] * 3))])
        return table["value"]

    first = values_of(b"a" * 300_000)
    second = values_of(b"b" * 300_000)
    assert first.to_pylist() == [b"a" * 300_000] * 3  # is kept, and stays as it was
    place = second.chunk(0).buffers()[2].address
    del second
    others = [bytearray(900_000 + more) for more in range(9)]  # take what is free
    third = values_of(b"c" * 299_999)
    assert third.chunk(0).buffers()[2].address == place
    assert third.to_pylist() == [b"c" * 299_999] * 3
    assert len(others) == 9


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4)


@pytest.mark.exhaustive
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


@pytest.mark.exhaustive
@settings(max_examples=300, deadline=None)
@given(st.sampled_from(BATCHES), damage)
def test_damaged_records_whose_checksum_is_right(batch: bytes, changes: list[tuple[float, int]]) -> None:
    broken = bytearray(batch)
    for place, byte in changes:
        broken[21 + int(place * (len(batch) - 21))] = byte
    broken[17:21] = crc32c(bytes(broken[21:])).to_bytes(4)
    check([produce(bytes(broken), batch)])
