"""One shard of a capture set in one micro-batch: its flows go on where the batch before left them.

Rules:
- The horizon of a capture set is the time of the last packet of its newest file, less `REORDER_NS`. A segment
  before it is analysed, as every file to come begins behind it; a later one waits in the state, to be sorted
  among those of the next file. So packets that lie in another file than their order says, at its border, are
  analysed as in one reading.
- A file that begins before the horizon came too late: it is told, and not analysed.
- State of a flow without an open connection goes. A flow that is silent is not touched before its time is up.
- If nothing more waits for its turn, copies of what is open are closed: what comes of that is told until the
  next batch tells better.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from kdissect.capture.key_logs import KeyLogs
from kdissect.model.packet import FILE_SHIFT, packet_ref
from kdissect.pipeline.file_rows import FileRows
from kdissect.pipeline.news import KEY, News
from kdissect.pipeline.parquet_parts import ParquetParts, WrittenFile
from kdissect.pipeline.reduction import parts_in
from kdissect.pipeline.relay_files import NAMES, split_relayed
from kdissect.pipeline.run import Run
from kdissect.pipeline.streaming.flow import Flow, Surroundings
from kdissect.pipeline.streaming.registry import Catalogue
from kdissect.pipeline.streaming.settings import Settings
from kdissect.pipeline.streaming.span import BATCH, END, BatchFacts, end_of, in_order, packed
from kdissect.stages.first import RELAY, relayed_batch
from kdissect.stages.judges import Judgement

# Packets of several queues stand milliseconds out of order; a second is a clock that was set
# (`capture.capture_file.STEP_NS`).
REORDER_NS = 1_000_000_000
NOTHING = b""
# Relayed events held before they are written: about 1 KB each.
_RELAYED = 4096
TOO_LATE = (
    "came too late: what was captured after its first packet was analysed before; `pipeline run` reads it"
)


class Store(Protocol):
    """The state of one shard, as Spark keeps it: flows by key, and one entry for all of them."""

    def get(self, key: bytes) -> tuple[bytes, bytes] | None:
        """The frozen flow, and the run of its segments that wait; either may be empty."""

    def put(self, key: bytes, flow: bytes, waiting: bytes) -> None:
        """Keep both."""

    def remove(self, key: bytes) -> None:
        """Forget a flow."""

    def head(self) -> bytes | None:
        """What is known of the shard."""

    def put_head(self, head: bytes) -> None:
        """Keep it."""


class Head(NamedTuple):
    """What a shard knows. `due_ns` says for each flow when it must be looked at, whatever comes.

    `sizes` are the bytes of each flow's state.
    """

    horizon_ns: int = -(1 << 63)
    last_ns: int | None = None
    secrets: tuple[tuple[int, bytes], ...] = ()
    due_ns: dict[bytes, int] = {}  # noqa: RUF012  replaced, never changed
    sizes: dict[bytes, int] = {}  # noqa: RUF012


class Report(NamedTuple):
    """What became of a shard in a batch. `judgement` and `open_judgement` are pickled; `open_` is what holds
    until the next batch only.
    """

    facts: BatchFacts
    files: tuple[WrittenFile, ...]
    open_files: tuple[WrittenFile, ...]
    judgement: bytes
    open_judgement: bytes
    told: tuple[FileRows, ...]
    late: frozenset[int]
    flows: int
    state_bytes: int
    segments: int
    last_ns: int | None


class Shard:
    """Works through one batch of one shard. `report` is there when `run` is through."""

    def __init__(self, settings: Settings, store: Store, catalogue: Catalogue, staging: Any) -> None:
        self._settings = settings
        self._store = store
        self._catalogue = catalogue
        self._staging = staging
        self._news = News()
        self._ends: dict[int, int] = {}
        self._segments = 0

    def run(self, rows: Iterable[Run]) -> Report:
        """Take the rows of the batch, in any order."""
        told, runs = _sorted_out(rows)
        self._facts = facts = _facts_of(told)
        head = pickle.loads(self._store.head() or pickle.dumps(Head()))
        late = self._late(head)
        self._take_news(told, late, head)
        self._horizon_ns = self._horizon(head, late)
        self._due, self._sizes = dict(head.due_ns), dict(head.sizes)
        around, parts = self._surroundings(), self._parts()
        for key in self._visited(runs):
            kept = [run for run in runs.get(key, ()) if run.ref >> FILE_SHIFT not in late]
            self._go_on(key, kept, around)
            self._write(around, parts, _RELAYED)
        files = self._close(around, parts)
        open_files, open_judgement = self._open() if facts.is_last else ((), NOTHING)
        last_ns = self._news.last_times.get(facts.capture_set, head.last_ns)
        self._store.put_head(
            pickle.dumps(Head(self._horizon_ns, last_ns, tuple(self._news.secrets), self._due, self._sizes))
        )
        return Report(
            facts, files, open_files, pickle.dumps(around.judgement), open_judgement, tuple(self._news.files),
            late, len(self._due), sum(self._sizes.values()), self._segments, last_ns,
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
        before = self._store.get(key)
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
        ends_ns = flow.next_end_ns
        if ends_ns is None:
            flow.judge(around)
        self._keep(key, NOTHING if ends_ns is None else around.freezer.freeze(flow), rest, ends_ns, before)

    def _keep(self, key: bytes, flow: bytes, rest: list[Any], ends_ns: int | None, before: Any) -> None:
        due = [ns for ns in (ends_ns, rest[0][0] if rest else None) if ns is not None]
        if not due:
            self._due.pop(key, None)
            self._sizes.pop(key, None)
            if before is not None:
                self._store.remove(key)
            return
        waiting = pickle.dumps(tuple(packed(0, key, rest))) if rest else NOTHING
        self._store.put(key, flow, waiting)
        self._due[key] = min(due)
        self._sizes[key] = len(flow) + len(waiting)

    def _open(self) -> tuple[tuple[WrittenFile, ...], bytes]:
        """What is open, as if the capture ended here. The state stays as it is."""
        around, parts = self._surroundings(), self._parts()
        last_ns = self._news.last_times.get(self._facts.capture_set)
        ends = {} if last_ns is None else {self._facts.set_name: last_ns}
        for key in sorted(self._due):
            frozen, waiting = self._store.get(key) or (NOTHING, NOTHING)
            flow = around.freezer.thaw(frozen) if frozen else Flow(around)
            flow.feed(in_order(_thawed_runs(waiting)))
            flow.close(ends)
            flow.hand_over(around)
            flow.judge(around)
            self._write(around, parts, _RELAYED)
        return self._close(around, parts), pickle.dumps(around.judgement)

    # what comes of it

    def _surroundings(self) -> Surroundings:
        secrets = KeyLogs(captures=(self._news,))
        secrets.files = list(self._settings.key_logs)
        return Surroundings(self._settings, self._facts.set_name, self._catalogue, secrets)

    def _parts(self) -> ParquetParts:
        return parts_in(self._staging(self._facts.batch), self._settings.partition_by)

    def _write(self, around: Surroundings, parts: ParquetParts, at_least: int = 1) -> None:
        for table, batch in around.rows.take():
            parts.add(table, batch)
        if len(around.relayed) >= at_least:
            names, others = split_relayed(relayed_batch(around.relayed))
            around.relayed = []
            for table, batch in ((NAMES, names), (RELAY, others)):
                if batch.num_rows:
                    parts.add(table, batch)

    def _close(self, around: Surroundings, parts: ParquetParts) -> tuple[WrittenFile, ...]:
        self._write(around, parts)
        for table, batch in around.rows.close():
            parts.add(table, batch)
        return tuple(parts.close())


def judgement_of(reports: Iterable[bytes]) -> Judgement:
    """Pickled judgements as one."""
    whole = Judgement()
    for data in reports:
        if data:
            whole.merge(pickle.loads(data))
    return whole


def _sorted_out(rows: Iterable[Run]) -> tuple[list[Run], dict[bytes, list[Run]]]:
    """What is told, and the runs of each flow."""
    runs: dict[bytes, list[Run]] = defaultdict(list)
    for row in rows:
        runs[row.key].append(row)
    return runs.pop(KEY, []), runs


def _facts_of(told: Iterable[Run]) -> BatchFacts:
    found: BatchFacts = next(pickle.loads(row.data[1:]) for row in told if row.data[:1] == BATCH)
    return found


def _thawed_runs(waiting: bytes) -> Iterator[Run]:
    if waiting:
        yield Run(*pickle.loads(waiting))
