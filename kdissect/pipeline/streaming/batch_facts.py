"""Facts about files and batches for shards, besides `flow_shuffle.sent_to_all`: rows with the empty key."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from kdissect.model.packets.packet import NUMBER_MASK, packet_ref
from kdissect.pipeline.streaming.arrivals.known_files import Taken
from kdissect.pipeline.streaming.flow_shuffle.run import Run, merged, pack, unpack
from kdissect.pipeline.streaming.flow_shuffle.run_reader import RunReader
from kdissect.pipeline.streaming.flow_shuffle.sent_to_all import KEY, facts_of, news_of, syns_of

BATCH, END = b"B", b"E"
_END = Struct("<q")


class BatchFacts(NamedTuple):
    """A micro-batch as one capture set sees it.

    `first_ns` maps the index of a file to a time: no new packet of the file is earlier. None means that it
    has no packets. `is_last` means that no file of the set waits: open connections are then reported as if
    the capture ended here. `has_taps`: other sets may have the same traffic.
    """

    batch: int
    capture_set: int
    set_name: str
    first_ns: dict[int, int | None]
    is_last: bool
    has_taps: bool = False

    def runs(self, shards: int) -> Iterator[Run]:
        """Yield a row for each shard of the set."""
        told = BATCH + pickle.dumps(self)
        for part in _parts_of(self.capture_set, shards):
            yield Run(part, KEY, 0, 0, told)


def _parts_of(capture_set: int, shards: int) -> range:
    """Return the shard numbers of a capture set: each has flows of one set only."""
    return range(capture_set * shards, (capture_set + 1) * shards)


class StreamMapping:
    """Files to runs for the shards of their capture sets."""

    def __init__(self, shards: int) -> None:
        self._shards = shards

    def runs(self, entries: Iterable[Taken]) -> Iterator[Run]:
        """Yield the runs of files, and the facts of the files."""
        for entry in entries:
            found = entry.input()
            file = found.open()
            reader = RunReader(file, partial(self.part_of, found.capture_set), entry.set_name)
            for run in reader.runs():
                if entry.skip:
                    yield from _behind(run, entry.skip)
                else:
                    yield run
            first, *_ = _parts_of(found.capture_set, self._shards)
            for told in news_of(file, found.capture_set, self._shards, reader.border_syns()):
                yield told._replace(part=told.part + first)
            for part in _parts_of(found.capture_set, self._shards):
                if reader.end_ns is not None:
                    yield Run(part, KEY, 0, packet_ref(found.number, 0), END + _END.pack(reader.end_ns))
            new = [one for one in reader.syns() if one.ref & NUMBER_MASK > entry.skip]
            if new:
                yield syns_of(file, new)._replace(part=first)
            yield facts_of(file, found.name, bool(reader.is_tap))._replace(part=first)

    def part_of(self, capture_set: int, key: bytes) -> int:
        """Return the shard of a flow in a capture set."""
        return _parts_of(capture_set, self._shards)[crc32(key) % self._shards]


def end_of(data: bytes) -> int:
    """Return the time in the data of a row that begins with `END`."""
    return int(_END.unpack(data[1:])[0])


def _behind(run: Run, packets: int) -> Iterator[Run]:
    """Yield the part of a run after the first `packets` packets of its file."""
    placed = [one for one in unpack(run.key, run.data) if one[1] & NUMBER_MASK > packets]
    if placed:
        yield packed(run.part, run.key, placed)


def packed(part: int, key: bytes, placed: Sequence[tuple[int, int, tuple, int]]) -> Run:  # type: ignore[type-arg]
    """Return segments of one flow, in order, as one run."""
    pieces = [
        pack(order_ns, ref, time_ns, 0 if segment[0] == key else 1, segment)
        for order_ns, ref, segment, time_ns in placed
    ]
    return Run(part, key, placed[0][0], placed[0][1], b"".join(pieces))


def in_order(runs: Iterable[Run]) -> list[tuple[int, int, tuple, int]]:  # type: ignore[type-arg]
    """Return the segments of one flow in canonical order, from runs in any order."""
    return list(merged(iter(sorted(runs, key=lambda run: (run.order_ns, run.ref)))))
