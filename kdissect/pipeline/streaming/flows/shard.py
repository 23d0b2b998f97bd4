"""One shard of a capture set in one micro-batch: its flows go on where the batch before left them.

Rules:
- The horizon of a capture set is the time of the last packet of its newest file, less `REORDER_NS`. A segment
  before it is analysed, as every file to come begins behind it; a later one waits in the state, to be sorted
  among those of the next file. So packets that lie in another file than their order says, at its border, are
  analysed as in one reading.
- A file that begins before the horizon came too late: it is told, and not analysed.
- State of a flow without an open connection goes. A flow that is silent is not touched before its time is up.
- Where there are several capture sets, what they share of a flow outlives its connections for a while
  (`twin_memory`).
- If nothing more waits for its turn, copies of what is open are closed: what comes of that is told until the
  next batch tells better. What the batch before made of flows that have nothing new holds still
  (`open_flows`).
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.taps.tap_matches import Sighting
from kdissect.model.packets.packet import FILE_SHIFT, packet_ref
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.batch_facts import BATCH, END, BatchFacts, end_of, in_order, packed
from kdissect.pipeline.streaming.flow_shuffle.run import Run
from kdissect.pipeline.streaming.flow_shuffle.sent_to_all import KEY, News
from kdissect.pipeline.streaming.flows.flow import Flow, Judged, Surroundings
from kdissect.pipeline.streaming.flows.flow_store import NOTHING, ShardStore, Store
from kdissect.pipeline.streaming.flows.known_duplicate_taps import KnownDuplicateTaps, Mark
from kdissect.pipeline.streaming.flows.open_flows import FlowRows, OpenFlows
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.forwarded_files import NAMES, split_forwarded
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile, parts_in
from kdissect.pipeline.table_files.whole_object import read_whole, write_whole
from kdissect.stages.per_flow import FORWARDED, forwarded_batch
from kdissect.stages.rows.file_rows import FileRows
from kdissect.stages.rows.table_rows import TableRows

# Packets of several queues stand milliseconds out of order; a second is a clock that was set
# (`capture.capture_file.STEP_NS`).
REORDER_NS = 1_000_000_000
# ForwardedEvent events held before they are written: about 1 KB each.
_FORWARDED = 4096
OF_FLOWS = ".flows"
"""What names of files in the checkpoint end with that hold what is open."""
_NO_KEYS = pickle.dumps(())
TOO_LATE = (
    "came too late: what was captured after its first packet was analysed before; `pipeline run` reads it"
)


class Head(NamedTuple):
    """What a shard knows. `due_ns` says for each flow when it must be looked at, whatever comes.

    `sizes` are the bytes of each flow's state. `timers` are times, each with the number of the entry that
    says which flows are to be forgotten then. `open_` is where it stands what the batch before made of open
    ones, None if it did not.
    """

    horizon_ns: int = -(1 << 63)
    last_ns: int | None = None
    secrets: tuple[tuple[int, bytes], ...] = ()
    due_ns: dict[bytes, int] = {}  # noqa: RUF012  replaced, never changed
    sizes: dict[bytes, int] = {}  # noqa: RUF012
    timers: tuple[tuple[int, int], ...] = ()
    open_: str | None = None


class Report(NamedTuple):
    """What became of a shard in a batch. `judged` are connections that are over; `open_` is what holds until
    the next batch only. `marks` are those of all capture sets, in the last report of a group of flows.
    """

    facts: BatchFacts
    files: tuple[WrittenFile, ...]
    open_files: tuple[WrittenFile, ...]
    judged: tuple[Judged, ...]
    open_judged: tuple[Judged, ...]
    told: tuple[FileRows, ...]
    late: frozenset[int]
    flows: int
    state_bytes: int
    segments: int
    last_ns: int | None
    open_: str | None
    marks: tuple[Mark, ...] = ()


_Staging = Callable[[int], str]
"""Where the tasks of a batch write."""


def work_through(
    rows: Iterable[Run], settings: Settings, store: Store, catalogue: Catalogue, staging: _Staging
) -> list[Report]:
    """One group of flows in one batch: the shards of all capture sets that have rows, in any order."""
    by_part: dict[int, list[Run]] = defaultdict(list)
    for row in rows:
        by_part[row.part].append(row)
    reports: list[Report] = []
    duplicate_taps: KnownDuplicateTaps | None = None
    for part in sorted(by_part):
        facts = _facts_in(by_part[part])
        if duplicate_taps is None and facts.has_taps:
            duplicate_taps = KnownDuplicateTaps(store, facts.batch)
        shard = Shard(settings, ShardStore(store, part), catalogue, staging, duplicate_taps)
        reports.append(shard.run(by_part.pop(part)))
    if duplicate_taps is not None:
        reports[-1] = reports[-1]._replace(marks=tuple(duplicate_taps.marks.values()))
    return reports


class Shard:
    """Works through one batch of one shard. `report` is there when `run` is through."""

    def __init__(
        self, settings: Settings, store: ShardStore, catalogue: Catalogue, staging: _Staging,
        duplicate_taps: KnownDuplicateTaps | None = None,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._store = store
        self._part = store.part
        self._catalogue = catalogue
        self._staging = staging
        self._duplicate_taps = duplicate_taps
        self._news = News()
        self._ends: dict[int, int] = {}
        self._segments = 0
        self._forget: dict[bytes, int] = {}

    def run(self, rows: Iterable[Run]) -> Report:
        """Take the rows of the batch, in any order."""
        told, runs = _sorted_out(rows)
        self._facts = facts = _facts_in(told)
        head: Head = pickle.loads(self._store.head() or pickle.dumps(Head()))
        late = self._late(head)
        self._take_news(told, late, head)
        self._horizon_ns = self._horizon(head, late)
        self._due, self._sizes = dict(head.due_ns), dict(head.sizes)
        around, parts = self._surroundings(TableRows(self._settings.tables)), self._parts()
        visited = self._visited(runs)
        for key in visited:
            kept = [run for run in runs.get(key, ()) if run.ref >> FILE_SHIFT not in late]
            self._go_on(key, kept, around)
            self._write(around, parts, _FORWARDED)
        files = self._close(around, parts)
        timers = self._forgotten(head, set(runs))
        is_last = facts.is_last
        open_files, open_judged, open_ = self._open(head, visited) if is_last else ((), (), None)
        last_ns = self._news.last_times.get(facts.capture_set, head.last_ns)
        secrets = tuple(self._news.secrets)
        after = Head(
            self._horizon_ns, last_ns, secrets, self._due, self._sizes, self._timers(timers), open_,
        )  # fmt: skip
        self._store.put_head(pickle.dumps(after))
        return Report(
            facts, files, open_files, tuple(around.judged), open_judged, tuple(self._news.files),
            late, len(self._due), sum(self._sizes.values()), self._segments, last_ns, open_,
        )  # fmt: skip

    # what the batch brings

    def _late(self, head: Head) -> frozenset[int]:
        first = self._facts.first_ns.items()
        return frozenset(file for file, ns in first if ns is not None and ns < head.horizon_ns)

    def _take_news(self, told: list[Run], late: frozenset[int], head: Head) -> None:
        self._news.secrets += head.secrets
        if head.last_ns is not None:
            self._news.last_times[self._facts.capture_set] = head.last_ns
        for row in told:
            file, tag = row.ref >> FILE_SHIFT, row.data[:1]
            if tag == END:
                self._ends[file] = end_of(row.data)
            elif tag == b"F" or (tag != BATCH and file not in late):
                self._news.take(row)

    def _horizon(self, head: Head, late: frozenset[int]) -> int:
        """Before it everything is known: the last packet of the newest file stands behind it."""
        ends = [(self._catalogue.number_of(file), ns) for file, ns in self._ends.items() if file not in late]
        return head.horizon_ns if not ends else max(head.horizon_ns, max(ends)[1] - REORDER_NS)

    def _visited(self, runs: dict[bytes, list[Run]]) -> list[bytes]:
        due = {key for key, due_ns in self._due.items() if due_ns < self._horizon_ns}
        return sorted(due | runs.keys())

    # flows

    def _go_on(self, key: bytes, runs: list[Run], around: Surroundings) -> None:
        before = self._store.flow(key)
        frozen, waiting = before or (NOTHING, NOTHING)
        placed = in_order([*_thawed_runs(waiting), *runs])
        sure = [one for one in placed if one[0] < self._horizon_ns]
        rest = placed[len(sure) :]
        flow = around.freezer.thaw(frozen) if frozen else Flow(around)
        flow.feed(sure)
        self._segments += len(sure)
        newest = max(self._facts.first_ns)
        flow.advance(packet_ref(newest, 0), self._horizon_ns)
        flow.hand_over(around)
        self._see(key, flow.sightings(), True)
        ends_ns = flow.next_end_ns
        self._keep(key, NOTHING if ends_ns is None else around.freezer.freeze(flow), rest, ends_ns, before)

    def _keep(self, key: bytes, flow: bytes, rest: list[Any], ends_ns: int | None, before: Any) -> None:
        due = [ns for ns in (ends_ns, rest[0][0] if rest else None) if ns is not None]
        if not due:
            self._due.pop(key, None)
            self._sizes.pop(key, None)
            if before is not None:
                self._store.remove_flow(key)
            return
        waiting = pickle.dumps(tuple(packed(0, key, rest))) if rest else NOTHING
        self._store.put_flow(key, flow, waiting)
        self._due[key] = min(due)
        self._sizes[key] = len(flow) + len(waiting)

    def _open(
        self, head: Head, visited: Collection[bytes]
    ) -> tuple[tuple[WrittenFile, ...], tuple[Judged, ...], str]:
        """What is open, as if the capture ended here. The state of flows stays as it is."""
        rows = FlowRows(self._settings.tables)
        around = self._surroundings(rows)
        last_ns = self._news.last_times.get(self._facts.capture_set)
        ends = {} if last_ns is None else {self._facts.set_name: last_ns}
        found, again = self._open_before(head, visited, last_ns)
        for key in sorted(again):
            rows.flow = key
            self._close_copy(key, around, ends)
            found.take(key, around)
        found.settle(rows)
        path = self._open_path()
        write_whole(filesystem_of(self._settings.own)[0], path, found.frozen())
        parts = self._parts()
        for name, batch in found.batches():
            self._add(parts, name, batch)
        return tuple(parts.close()), found.judged(), path

    def _open_before(
        self, head: Head, visited: Collection[bytes], last_ns: int | None
    ) -> tuple[OpenFlows, Collection[bytes]]:
        """What holds of what the batch before made of open flows, and those to be looked at again."""
        filesystem, _ = filesystem_of(self._settings.own)
        data = None if head.open_ is None else read_whole(filesystem, head.open_)
        if data is None:
            return OpenFlows(), self._due.keys()
        # Those whose segments wait are among them: none is behind the last packet.
        up = {key for key, due_ns in self._due.items() if last_ns is not None and due_ns <= last_ns}
        again = (up | set(visited)) & self._due.keys()
        return OpenFlows.thawed(data).without(again | set(visited)), again

    def _close_copy(self, key: bytes, around: Surroundings, ends: Mapping[str, int]) -> None:
        frozen, waiting = self._store.flow(key) or (NOTHING, NOTHING)
        flow = around.freezer.thaw(frozen) if frozen else Flow(around)
        flow.feed(in_order(_thawed_runs(waiting)))
        flow.close(ends)
        flow.hand_over(around)
        self._see(key, [one for one in flow.sightings() if one.is_news], False)

    def _open_path(self) -> str:
        _, root = filesystem_of(self._settings.own)
        return f"{root}/sets/{self._facts.batch:010}-{self._part:06}{OF_FLOWS}"

    # what capture sets share

    def _see(self, key: bytes, sightings: Sequence[Sighting], is_certain: bool) -> None:
        if self._duplicate_taps is None or not (sightings or is_certain):
            return
        number = self._facts.capture_set
        forget_ns = self._duplicate_taps.see(key, number, sightings, self._horizon_ns, is_certain)
        if forget_ns is not None and is_certain:
            self._forget[key] = forget_ns

    def _forgotten(self, head: Head, seen: Collection[bytes]) -> list[tuple[int, int]]:
        """Have what is over for long enough forgotten; gives the timers that are not up."""
        left = []
        for time_ns, number in head.timers:
            if time_ns >= self._horizon_ns:
                left.append((time_ns, number))
                continue
            keys = pickle.loads(self._store.take_timer(number) or _NO_KEYS)
            for key in sorted(set(keys).difference(seen, self._due)):  # those go on, and will be seen
                self._see(key, (), True)
        return left

    def _timers(self, left: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The timers from now on: one more for all that came to its end in this batch."""
        if self._forget:
            batch = self._facts.batch
            self._store.put_timer(batch, pickle.dumps(sorted(self._forget)))
            left.append((max(self._forget.values()), batch))
        return tuple(left)

    # what comes of it

    def _surroundings(self, rows: TableRows) -> Surroundings:
        secrets = KeyLogs(captures=(self._news,))
        secrets.files = list(self._settings.key_logs)
        return Surroundings(self._settings, self._facts.set_name, self._catalogue, secrets, rows)

    def _parts(self) -> ParquetParts:
        return parts_in(self._staging(self._facts.batch), self._settings.partition_by)

    def _write(self, around: Surroundings, parts: ParquetParts, at_least: int = 1) -> None:
        for table, batch in around.rows.take():
            parts.add(table, batch)
        if len(around.forwarded) >= at_least:
            self._add(parts, FORWARDED, forwarded_batch(around.forwarded))
            around.forwarded = []

    def _add(self, parts: ParquetParts, name: str, batch: Any) -> None:
        if name != FORWARDED:
            parts.add(name, batch)
            return
        for table, rows in zip((NAMES, FORWARDED), split_forwarded(batch), strict=True):
            if rows.num_rows:
                parts.add(table, rows)

    def _close(self, around: Surroundings, parts: ParquetParts) -> tuple[WrittenFile, ...]:
        self._write(around, parts)
        for table, batch in around.rows.close():
            parts.add(table, batch)
        return tuple(parts.close())


def _sorted_out(rows: Iterable[Run]) -> tuple[list[Run], dict[bytes, list[Run]]]:
    """What is told, and the runs of each flow."""
    runs: dict[bytes, list[Run]] = defaultdict(list)
    for row in rows:
        runs[row.key].append(row)
    return runs.pop(KEY, []), runs


def _facts_in(told: Iterable[Run]) -> BatchFacts:
    """What a shard is told of its batch."""
    is_told = (row for row in told if row.key == KEY and row.data[:1] == BATCH)
    found: BatchFacts = pickle.loads(next(is_told).data[1:])
    return found


def _thawed_runs(waiting: bytes) -> Iterator[Run]:
    if waiting:
        yield Run(*pickle.loads(waiting))
