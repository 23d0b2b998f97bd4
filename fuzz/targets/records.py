"""Record batches, old messages, codecs, log segments and their indexes."""

import gzip
import struct
import zlib
from itertools import pairwise
from random import Random

import cramjam
import lz4.frame
import zstandard
from crc32c import crc32c

from fuzz.mutators import mutate_bytes
from fuzz.target import Target, demand
from kdissect.decoders.compression.codec import decompress
from kdissect.decoders.records.batches import split_batches
from kdissect.decoders.records.canonical_batch import are_canonical
from kdissect.decoders.records.reader import read_records
from kdissect.decoders.records.spans import batch_nodes
from kdissect.engine.records.record_rows import RecordRows
from kdissect.engine.segments.batch_positions import SegmentPlaces
from kdissect.engine.segments.index_kinds import KINDS
from kdissect.engine.segments.producer_states import ProducerStates
from kdissect.engine.segments.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segments.segment_rows import SegmentRows
from kdissect.model.errors import DecodeError, OutputLimitError
from kdissect.model.record_batch import RecordFault
from tests.support.messages.batches import batch_bytes, message_bytes, record_bytes

LIMIT = 1 << 16  # of what a mutant decompresses to: bombs are cut here, as they are at the limit of users
_CODECS = {
    1: lambda content: gzip.compress(content, mtime=0),
    2: lambda content: bytes(cramjam.snappy.compress_raw(content)),
    3: lz4.frame.compress,
    4: zstandard.compress,
}


def _records(count: int) -> bytes:
    headers = [("h", b"v"), ("n", None)]
    return b"".join(
        record_bytes(n, n * 7, None if n % 3 else b"key", b"value %d" % n, headers if n % 2 else ())
        for n in range(count)
    )


def _compressed(content: bytes, codec: int, count: int) -> bytes:
    return batch_bytes(_CODECS[codec](content), count, attributes=codec)


def _batches() -> list[bytes]:
    made = [batch_bytes(_records(n), n, base_offset=n * 10) for n in (1, 2, 5)]
    made += [_compressed(_records(n), codec, n) for codec in _CODECS for n in (1, 4)]
    made += [
        batch_bytes(b"", 0),
        batch_bytes(_records(2), 2, attributes=0x30, producer_id=4, epoch=1, sequence=0),
    ]
    made += [
        batch_bytes(record_bytes(0, 0, b"\0\0\0\1", bytes(6)), 1, attributes=0x30, producer_id=4, epoch=1)
    ]
    return made + [a + b for a, b in pairwise(made)]


def with_checksums(data: bytes) -> bytes:
    """Return the batches and messages in `data` with correct checksums."""
    out = bytearray(data)
    at = 0
    while at + 17 <= len(out):
        length = int.from_bytes(out[at + 8 : at + 12], signed=True)
        end = at + 12 + length
        if length < 5 or end > len(out):
            break
        if out[at + 16] == 2:
            struct.pack_into(
                ">I", out, at + 17, crc32c(bytes(out[at + 21 : end]))
            ) if end >= at + 21 else None
        else:
            struct.pack_into(">I", out, at + 12, zlib.crc32(bytes(out[at + 16 : end])))
        at = end
    return bytes(out)


class RecordTarget(Target):
    """Records fields: nothing raises, trees fill, records are read whatever the headers say."""

    longest = 700
    bytes_per_byte = 3000  # zstd's and zlib's tables, trees

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Half the time checksums are put right, so that what is behind them is reached."""
        if dice.random() < 0.15:
            out = data + other
        elif dice.random() < 0.1 and len(data) > 61:
            codec = dice.choice(tuple(_CODECS))
            inside = mutate_bytes(_records(3), dice, data)
            out = _compressed(inside, codec, 3)
        else:
            out = mutate_bytes(data, dice, other)
        return with_checksums(out) if dice.random() < 0.6 else out

    def run(self, data: bytes) -> int:
        """Split, read, make a tree."""
        added = 0
        for may_be_cut in (False, True):
            found = split_batches(data, 0, len(data), may_be_cut=may_be_cut)
            at = 0
            for batch in found.batches:
                demand(at <= batch.start < batch.end <= len(data), "batches in order")
                at = batch.start + 1
        for batch in found.batches:
            records = read_records(batch, LIMIT, 2000)
            demand(len(records.records) <= 2000, "bounded")
            added += LIMIT if batch.codec else 0
            str(records.faults)
            if batch.magic == 2 and not batch.codec:
                usual = are_canonical(batch, data, batch.records_start, batch.end, dense=False)
                demand(not usual or not records.faults, "usual, but does not fit")
        if len(found.batches) < 4:
            nodes = batch_nodes(data, 0, len(data), True)
            demand(not data or (nodes[0].start, nodes[-1].end) == (0, len(data)), "a tree of all bytes")
            added = added * 2 + len(data)
        return added + len(data)


class Batches(RecordTarget):
    """Magic 2."""

    name = "record-batches"
    about = "batches of magic 2, plain and compressed, checksums right or wrong; records; their trees"
    modules = (
        "kdissect.decoders.records.batches",
        "kdissect.decoders.records.reader",
        "kdissect.decoders.records.records_v2",
        "kdissect.decoders.records.search",
        "kdissect.decoders.records.spans",
        "kdissect.decoders.records.canonical_batch",
        "kdissect.decoders.records.varint",
    )

    def seeds(self) -> list[bytes]:
        """Return every codec, control, idempotent, empty; one and two."""
        return _batches()


class MessageSets(RecordTarget):
    """Magic 0 and 1."""

    name = "message-sets"
    about = "messages of magic 0 and 1, wrapped in every codec, nested, with odd offsets"
    modules = ("kdissect.decoders.records.message_set", "kdissect.decoders.records.batches")

    def seeds(self) -> list[bytes]:
        """Return plain, in wrappers, wrapped twice."""
        made = []
        for magic in (0, 1):
            plain = b"".join(
                message_bytes(b"value", magic=magic, offset=n, key=b"k" if n else None) for n in range(3)
            )
            made += [plain, message_bytes(None, magic=magic)]
            for codec in (1, 2, 3):
                wrapped = message_bytes(_CODECS[codec](plain), magic=magic, offset=2, attributes=codec)
                twice = message_bytes(_CODECS[1](wrapped), magic=magic, offset=2, attributes=1)
                made += [wrapped, wrapped + plain, twice, wrapped + batch_bytes(_records(1), 1)]
        return made


class Codecs(Target):
    """Compressed bytes: bounded output, DecodeError and nothing else."""

    name = "codecs"
    about = "gzip, snappy (raw and xerial), lz4 (right and legacy checksum), zstd: never beyond the limit"
    modules = ("kdissect.decoders.compression",)
    bytes_per_byte = 4000
    longest = 1200

    def seeds(self) -> list[bytes]:
        """Return a byte for the codec and the magic, then the bytes."""
        contents = (b"", b"abc" * 30, bytes(5000), bytes(range(256)))
        made = []
        for codec, pack in _CODECS.items():
            made += [bytes((codec | magic << 4,)) + pack(content) for content in contents for magic in (0, 2)]
            made.append(bytes((codec,)) + pack(b"one" * 9) + pack(b"two" * 9))
        block = bytes(cramjam.snappy.compress_raw(b"xerial" * 20))
        xerial = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
        made.append(b"\x02" + xerial + (len(block).to_bytes(4) + block) * 3)
        made.append(b"\x02" + (xerial + len(block).to_bytes(4) + block) * 2)
        sizeless = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True)
        return [*made, b"\x04" + sizeless.compress(b"sizeless" * 99), b"\x01" + gzip.compress(bytes(300_000))]

    def mutate(self, data: bytes, dice: Random, other: bytes) -> bytes:
        """Keep the codec most of the time."""
        if dice.random() < 0.05:
            return other[:1] + data[1:]
        return data[:1] + mutate_bytes(data[1:], dice, other[1:])

    def grow(self, parts: list[bytes]) -> bytes:
        """Under the head of the first."""
        return parts[0][:1] + b"".join(part[1:] for part in parts)

    def run(self, data: bytes) -> int:
        """Under a limit; what came out whole comes out the same under a larger one."""
        if not data:
            return 0
        codec, magic = data[0] & 7, data[0] >> 4 & 3
        try:
            content = decompress(codec, data[1:], LIMIT, magic=magic)
        except OutputLimitError:
            return LIMIT * 2
        except DecodeError as error:
            demand(0 <= error.offset <= len(data) and str(error) != "", "a place")
            return LIMIT if codec == 4 else 0
        demand(len(content) <= LIMIT or not codec, "the limit")
        demand(decompress(codec, memoryview(data)[1:], LIMIT * 4, magic=magic) == content, "the same")
        return len(content) * 2


class Segments(Target):
    """Log segments, in any chunks."""

    name = "segments"
    about = "log segments: any chunks, rows with records, what stands in a segment for its indexes"
    modules = (
        "kdissect.engine.segments.segment_reader",
        "kdissect.engine.segments.segment_rows",
        "kdissect.engine.segments.producer_states",
        "kdissect.engine.segments.batch_positions",
    )
    longest = 900
    bytes_per_byte = 4000
    mutate = RecordTarget.mutate

    def seeds(self) -> list[bytes]:
        """Return segments of some batches, cut, with room behind."""
        made = _batches()
        whole = [b"".join(made[at : at + 3]) for at in range(len(made) - 2)]
        return [one for one in [*whole, *(one + bytes(40) for one in whole[:3])] if len(one) <= self.longest]

    def run(self, data: bytes) -> int:
        """Whole and in pieces: the same batches and faults; then rows, places and producers."""
        placed, reader = _placed(data, len(data) or 1)
        again, other = _placed(data, 29)
        # Behind damage a batch is looked for in what was read so far, so that the cut may matter there.
        if not reader.faults and not other.faults and not any(one.batch.faults for one in placed):
            demand([_facts(one) for one in placed] == [_facts(one) for one in again], "chunks")
            demand(reader.padding == other.padding, "padding")
        places, states, faults = SegmentPlaces(0), ProducerStates(), list[RecordFault]()
        rows = SegmentRows(RecordRows((), "text", "json", False))
        rows.begin("00000000000000000000.log", "topic", 0)
        for one in placed:
            places.add(one)
            states.add(one.batch)
            if not one.batch.codec:
                for row in rows.rows(one, faults):
                    demand(row["file"] is not None, "a row")
        return len(data)


def _facts(one: PlacedBatch) -> tuple[object, ...]:
    batch = one.batch
    return (one.number, one.position, batch.size, batch.crc, batch.magic, len(batch.faults))


def _placed(data: bytes, size: int) -> tuple[list[PlacedBatch], SegmentReader]:
    reader = SegmentReader()
    placed = []
    for at in range(0, len(data), size):
        placed += reader.feed(data[at : at + size])
    return [*placed, *reader.close()], reader


class Indexes(Target):
    """The files beside segments."""

    name = "indexes"
    about = "offset, time and transaction indexes and producer snapshots, against a segment and alone"
    modules = ("kdissect.engine.segments",)
    longest = 400

    def __init__(self) -> None:
        segment = b"".join(_batches()[:6])
        self._places = SegmentPlaces(0)
        states = ProducerStates()
        for one in _placed(segment, len(segment))[0]:
            self._places.add(one)
            aborted = states.add(one.batch)
            if aborted is not None:
                self._places.add_aborted(*aborted)

    def seeds(self) -> list[bytes]:
        """Return a byte for the kind, then the file."""
        offsets = struct.pack(">iiii", 10, 0, 20, 100) + bytes(16)
        times = struct.pack(">qiqi", 1_700_000_000_000, 1, 1_700_000_000_999, 10) + bytes(24)
        aborted = struct.pack(">hqqqq", 0, 4, 0, 9, 5)
        entry = struct.pack(">qhiqiqiq", 4, 1, 7, 20, 2, 1_700_000_000_000, -1, -1)
        body = struct.pack(">i", 1) + entry
        snapshot = struct.pack(">hI", 1, crc32c(body)) + body
        return [
            b"\0" + offsets,
            b"\1" + times,
            b"\2" + aborted * 2,
            b"\3" + snapshot,
            b"\3" + snapshot[:9],
            b"\0",
            b"\2",
        ]

    def grow(self, parts: list[bytes]) -> bytes:
        """Under the head of the first."""
        return parts[0][:1] + b"".join(part[1:] for part in parts)

    def run(self, data: bytes) -> int:
        """Return every entry, what is wrong with it, what is missing."""
        if not data:
            return 0
        kind = tuple(KINDS.values())[data[0] % len(KINDS)]
        for places in (None, self._places):
            index = kind(data[1:], 5 if data[0] & 0x80 else 0)
            for entry in index.entries(places):
                demand(1 <= entry.start + 1 <= len(data) and all(map(str, entry.told())), "a place")
            if places is not None:
                index.missing(places)
        return len(data)
