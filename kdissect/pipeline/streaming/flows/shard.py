"""One shard of a capture set in one micro-batch: its flows go on from the batch before.

Rules:
- The horizon of a capture set is the time of the newest file's last packet, less `REORDER_NS`. A segment
  before it is analysed, as every file to come begins after it. A later segment waits in the state, to be
  sorted among the next file's segments. So packets at a file border that are out of order across files are
  analysed as in one reading.
- A file that begins before the horizon came too late: it is reported, and not analysed.
- State of a flow without an open connection is deleted. A silent flow is not read before its time is up.
- If there are several capture sets, the shared state of a flow outlives its connections for a while
  (`known_duplicate_taps`).
- If no file waits, copies of open connections are closed: the results are reported until the next batch has
  better results. The last batch's results of flows without new packets stay valid: these flows settle
  (`settled_flows`).
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kdissect.capture.filesystems import filesystem_of
from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.nat_sides import NEAR_NS
from kdissect.engine.taps.tap_matches import Sighting
from kdissect.model.packets.packet import FILE_SHIFT, packet_ref
from kdissect.model.packets.segment import PlainSegment, reverse_flow
from kdissect.pipeline.streaming.arrivals.known_files import Catalogue
from kdissect.pipeline.streaming.batch_facts import BATCH, END, BatchFacts, end_of, in_order, packed
from kdissect.pipeline.streaming.flow_shuffle.file_syns import FileSyn, sides_of_files
from kdissect.pipeline.streaming.flow_shuffle.run import Run
from kdissect.pipeline.streaming.flow_shuffle.sent_to_all import KEY, News
from kdissect.pipeline.streaming.flows.flow import Flow, Judged, Surroundings
from kdissect.pipeline.streaming.flows.flow_store import NOTHING, ShardStore, Store
from kdissect.pipeline.streaming.flows.known_duplicate_taps import KnownDuplicateTaps, Mark
from kdissect.pipeline.streaming.flows.open_flows import FlowRows, OpenFlows, without_flows
from kdissect.pipeline.streaming.flows.settled_flows import Due, Files, Group, Index, SettledFlows
from kdissect.pipeline.streaming.stream_settings import Settings
from kdissect.pipeline.table_files.forwarded_files import NAMES, split_forwarded
from kdissect.pipeline.table_files.parquet_parts import ParquetParts, WrittenFile, parts_in
from kdissect.pipeline.table_files.whole_object import read_named, write_whole
from kdissect.stages.per_flow import FORWARDED, forwarded_batch
from kdissect.stages.rows.file_rows import FileRows
from kdissect.stages.rows.table_rows import TableRows

# Packets of several queues are milliseconds out of order. A step of a second or more is a clock that was set
# (`capture.capture_file.STEP_NS`).
REORDER_NS = 1_000_000_000
# ForwardedEvent events buffered before they are written: about 1 KB each.
_FORWARDED = 4096
OF_FLOWS = ".flows"
"""Suffix of the checkpoint's files about open flows."""
_NO_KEYS = pickle.dumps(())
TOO_LATE = (
    "came too late: what was captured after its first packet was analysed before; `pipeline run` reads it"
)


class Head(NamedTuple):
    """The state of a shard. `due` maps each flow that did not settle to the time at which it must be
    processed without packets, and to the size of its state in bytes.

    `timers` are times, each with the number of the entry that lists the flows to forget then. `open_` is the
    file with the last batch's results of open flows that did not settle, or None. `settled` are the other
    open flows.
    """

    horizon_ns: int = -(1 << 63)
    last_ns: int | None = None
    secrets: tuple[tuple[int, bytes], ...] = ()
    due: dict[bytes, Due] = {}  # noqa: RUF012  replaced, never changed
    timers: tuple[tuple[int, int], ...] = ()
    open_: str | None = None
    settled: Index = Index()
    syns: tuple[tuple[Any, ...], ...] = ()
    """SYNs at file borders whose other side may come yet, or waits to be analysed."""


class Report(NamedTuple):
    """The result of a shard in a batch. `judged` are connections that are over. `open_files` and
    `open_judged` hold until the next batch only. `settled` are flows without new packets, and `settled_files`
    maps the name of a part to their rows, if these changed. `kept` are the files that the shard names.
    `syns` are the SYNs of files that came, and `seen` the connections whose flows went on, both if other sets
    may have the same traffic. `marks` are all capture sets' marks, in the last report for a group of flows.
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
    settled: tuple[Group, ...]
    settled_files: dict[str, tuple[WrittenFile, ...]]
    kept: tuple[str, ...]
    syns: tuple[FileSyn, ...] = ()
    seen: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()


_Staging = Callable[[int], str]
"""Where the tasks of a batch write."""


def work_through(
    rows: Iterable[Run], settings: Settings, store: Store, catalogue: Catalogue, staging: _Staging
) -> list[Report]:
    """Process one group of flows in one batch: the shards of all capture sets that have rows, in any
    order.
    """
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
        self._named = 0
        self._forget: dict[bytes, int] = {}
        self._sides: dict[bytes, list[PlainSegment]] = {}
        self._seen: set[str] = set()

    def run(self, rows: Iterable[Run]) -> Report:
        """Take the rows of the batch, in any order."""
        told, runs = _sorted_out(rows)
        self._facts = facts = _facts_in(told)
        head: Head = pickle.loads(self._store.head() or pickle.dumps(Head()))
        late = self._late(head)
        self._take_news(told, late, head)
        self._horizon_ns = self._horizon(head, late)
        self._due = dict(head.due)
        self._settled = SettledFlows(head.settled, self._own_files())
        syns = [*(FileSyn(*fields) for fields in head.syns), *self._news.syns]
        self._sides = sides_of_files(facts.set_name, syns)
        around, parts = self._surroundings(TableRows(self._settings.tables)), self._parts()
        visited = self._visited(runs)
        self._due |= self._settled.take_out(visited)
        for key in visited:
            kept = [run for run in runs.get(key, ()) if run.ref >> FILE_SHIFT not in late]
            self._go_on(key, kept, around)
            self._write(around, parts, _FORWARDED)
        files = self._close(around, parts)
        timers = self._forgotten(head, set(runs))
        last_ns = self._news.last_times.get(facts.capture_set, head.last_ns)
        self._settle(head, set(visited), last_ns)
        open_files, open_judged, open_ = self._open() if facts.is_last else ((), (), None)
        index, settled_files = self._close_settled()
        secrets, groups = tuple(self._news.secrets), tuple(index.groups.values())
        due = tuple(tuple(one) for one in syns if one.order_ns >= self._horizon_ns - 2 * NEAR_NS)
        after = Head(self._horizon_ns, last_ns, secrets, self._due, self._timers(timers), open_, index, due)
        self._store.put_head(pickle.dumps(after))
        own = [path for group in groups for path in group.paths] + ([] if open_ is None else [open_])
        return Report(
            facts, files, open_files, tuple(around.judged), open_judged, tuple(self._news.files), late,
            len(self._due) + sum(group.flows for group in groups), self._state_bytes(groups),
            self._segments, last_ns, groups, settled_files, tuple(own),
            tuple(self._news.all_syns) if facts.has_taps else (), frozenset(self._seen),
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
        """Return the time before which all packets are known: the newest file's last packet is later."""
        ends = [(self._catalogue.number_of(file), ns) for file, ns in self._ends.items() if file not in late]
        return head.horizon_ns if not ends else max(head.horizon_ns, max(ends)[1] - REORDER_NS)

    def _visited(self, runs: dict[bytes, list[Run]]) -> list[bytes]:
        due = {key for key, due in self._due.items() if due.ns < self._horizon_ns}
        return sorted(due.union(runs, self._settled.due(self._horizon_ns)))

    # flows

    def _go_on(self, key: bytes, runs: list[Run], around: Surroundings) -> None:
        before = self._store.flow(key)
        frozen, waiting = before or (NOTHING, NOTHING)
        placed = in_order([*_thawed_runs(waiting), *runs])
        sure = [one for one in placed if one[0] < self._horizon_ns]
        rest = placed[len(sure) :]
        flow = around.freezer.thaw(frozen) if frozen else Flow(around)
        self._tell_sides(key, flow, sure)
        flow.feed(sure, around)
        self._segments += len(sure)
        newest = max(self._facts.first_ns)
        flow.advance(packet_ref(newest, 0), self._horizon_ns, around)
        flow.hand_over(around)
        self._see(key, flow.sightings(), True)
        ends_ns = flow.next_end_ns
        self._keep(key, NOTHING if ends_ns is None else around.freezer.freeze(flow), rest, ends_ns, before)

    def _tell_sides(self, key: bytes, flow: Flow, placed: Sequence[tuple[int, int, Any, int]]) -> None:
        """Report to a flow which of the SYNs to come had another side in another file."""
        if placed and self._sides:
            for sender in (key, reverse_flow(key)):
                flow.tell(self._sides.get(sender, ()), placed[0][1])

    def _keep(self, key: bytes, flow: bytes, rest: list[Any], ends_ns: int | None, before: Any) -> None:
        due = [ns for ns in (ends_ns, rest[0][0] if rest else None) if ns is not None]
        if not due:
            self._due.pop(key, None)
            if before is not None:
                self._store.remove_flow(key)
            return
        waiting = pickle.dumps(tuple(packed(0, key, rest))) if rest else NOTHING
        self._store.put_flow(key, flow, waiting)
        self._due[key] = Due(min(due), len(flow) + len(waiting))

    def _settle(self, head: Head, visited: Collection[bytes], last_ns: int | None) -> None:
        """Settle flows without packets in the batch, and take out flows whose time is up by the last packet.
        The time of the last packet is unknown before that. Flows whose segments wait become active, too.
        """
        until_ns = -(1 << 63) if last_ns is None else last_ns + 1
        self._due |= self._settled.take_out(self._settled.due(until_ns))
        if head.open_ is None:
            return
        quiet = [
            k for k, due in head.due.items() if k not in visited and k in self._due and due.ns >= until_ns
        ]
        if quiet:
            held = OpenFlows.thawed(self._own_files().read(head.open_)).only(quiet)
            self._settled.add(held, {key: self._due.pop(key) for key in quiet})

    def _close_settled(self) -> tuple[Index, dict[str, tuple[WrittenFile, ...]]]:
        """Write changes of settled flows. Return the files by the part of the tables with their rows."""
        index, changed = self._settled.close()
        files = {}
        for number, batches in changed.items():
            parts = self._parts()
            for name, batch in without_flows(batches):
                parts.add(name, batch)
            files[f"open {self._part}/{number}"] = tuple(parts.close())
        return index, files

    def _state_bytes(self, groups: Iterable[Group]) -> int:
        settled = sum(leaf.bytes for group in groups for leaf in group.leaves.values())
        return settled + sum(due.bytes for due in self._due.values())

    def _open(self) -> tuple[tuple[WrittenFile, ...], tuple[Judged, ...], str]:
        """Return the results of flows that are open and did not settle, as if the capture ended here. The
        state stays as it is.
        """
        rows = FlowRows(self._settings.tables)
        around = self._surroundings(rows)
        last_ns = self._news.last_times.get(self._facts.capture_set)
        ends = {} if last_ns is None else {self._facts.set_name: last_ns}
        found = OpenFlows([], {})
        for key in sorted(self._due):
            rows.flow = key
            self._close_copy(key, around, ends)
            found.take(key, around)
        found.batches += rows.with_flows()
        files = self._own_files()
        path = files.name()
        files.write(path, found.frozen())
        parts = self._parts()
        for name, batch in without_flows(found.batches):
            parts.add(name, batch)
        forwarded = found.forwarded()
        for first in range(0, len(forwarded), _FORWARDED):
            self._add(parts, FORWARDED, forwarded_batch(forwarded[first : first + _FORWARDED]))
        return tuple(parts.close()), found.judged(), path

    def _close_copy(self, key: bytes, around: Surroundings, ends: Mapping[str, int]) -> None:
        frozen, waiting = self._store.flow(key) or (NOTHING, NOTHING)
        flow = around.freezer.thaw(frozen) if frozen else Flow(around)
        placed = in_order(_thawed_runs(waiting))
        self._tell_sides(key, flow, placed)
        flow.feed(placed, around)
        flow.close(ends, around)
        flow.hand_over(around)
        self._see(key, [one for one in flow.sightings() if one.is_news], False)

    def _own_files(self) -> Files:
        """Return the functions for the checkpoint's files about open flows."""
        filesystem, root = filesystem_of(self._settings.own)

        def name() -> str:
            self._named += 1
            return f"{root}/sets/{self._facts.batch:010}-{self._part:06}-{self._named:05}{OF_FLOWS}"

        return Files(partial(read_named, filesystem), partial(write_whole, filesystem), name)

    # what capture sets share

    def _see(self, key: bytes, sightings: Sequence[Sighting], is_certain: bool) -> None:
        if self._duplicate_taps is None or not (sightings or is_certain):
            return
        number = self._facts.capture_set
        self._seen.update(one.connection for one in sightings)
        forget_ns = self._duplicate_taps.see(key, number, sightings, self._horizon_ns, is_certain)
        if forget_ns is not None and is_certain:
            self._forget[key] = forget_ns

    def _forgotten(self, head: Head, seen: Collection[bytes]) -> list[tuple[int, int]]:
        """Forget connections that are over for long enough. Return the timers that are not up."""
        left = []
        for time_ns, number in head.timers:
            if time_ns >= self._horizon_ns:
                left.append((time_ns, number))
                continue
            keys = pickle.loads(self._store.take_timer(number) or _NO_KEYS)
            for key in sorted(set(keys).difference(seen, self._due)):
                if key not in self._settled:  # else it goes on, and will be seen
                    self._see(key, (), True)
        return left

    def _timers(self, left: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """Return the timers from now on, with one more for all connections that ended in this batch."""
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
    """Return the rows with facts, and the runs of each flow."""
    runs: dict[bytes, list[Run]] = defaultdict(list)
    for row in rows:
        runs[row.key].append(row)
    return runs.pop(KEY, []), runs


def _facts_in(told: Iterable[Run]) -> BatchFacts:
    """Return the facts of the shard's batch."""
    is_told = (row for row in told if row.key == KEY and row.data[:1] == BATCH)
    found: BatchFacts = pickle.loads(next(is_told).data[1:])
    return found


def _thawed_runs(waiting: bytes) -> Iterator[Run]:
    if waiting:
        yield Run(*pickle.loads(waiting))
