"""The library's front door: captures in, exchanges out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any
from warnings import warn

from kdissect.capture.capture_file import CaptureFile
from kdissect.capture.files import Captures, ends_of, open_captures
from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.engine.guard import Guard
from kdissect.engine.unread import KeyLogUse, Unread
from kdissect.history.topics.topic_names import FETCH, TopicNames, tells_names
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.endpoint import Ports
from kdissect.model.errors import CaptureWarning
from kdissect.model.limits import Limits
from kdissect.model.run_budget import start_run
from kdissect.model.wording import path_text
from kdissect.session.detection.known_brokers import Brokers, End
from kdissect.session.events import Event, Events
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

if TYPE_CHECKING:
    from kdissect.engine.log_lines import Joined, LogLines
    from kdissect.engine.shards import Shard
    from kdissect.engine.taps.copies import Copies
    from kdissect.engine.taps.duplicate_taps import DuplicateTaps

_NOTHING: Events = []
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class Dissection:
    """The exchanges of one or more captures, read on demand.

    Iteration yields `Exchange` objects in the order of their completion. Inputs that cannot be read do not
    raise: they are in `captures.errors` once the iteration is over, with a warning each if `warns` is set.
    Iterate once. Open again to read again.
    `topic_ids` and `hosts` are names of topic ids and of addresses (`model.hosts`).
    `only_ports`: connections without one of these are left out.
    `limits` bound what is held of connections (docs/limits.md); None: those of the process (`model.limits`).
    `shard`: only its connections (`engine.shards`).
    `brokers` and `taps` are what is known of all inputs, where these are some of them: nothing is looked for
    again.
    """

    def __init__(
        self,
        paths: Paths | Captures,
        ports: Iterable[int] = (),
        topic_ids: Mapping[bytes, str] | None = None,
        key_logs: Sequence[str] = (),
        hosts: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        only_ports: Iterable[int] = (),
        shard: "Shard | None" = None,
        brokers: Brokers | None = None,
        taps: "DuplicateTaps | None" = None,
    ) -> None:
        start_run()
        self.captures: Captures = _captures(paths)
        files = self.captures.files
        self.file_names = [path_text(file.path) for file in files]
        """Names of the inputs by file index, as they stand in rows. Those of a live capture come with it."""
        self.ports = Ports(ports, only_ports)
        """Ports taken for brokers without detection, and the only ports that are analyzed."""
        self._key_log_paths = tuple(key_logs)
        self.key_logs = KeyLogs(self._key_log_paths, may_grow=self.captures.is_live, captures=files)
        """Secrets of TLS: of the files named, and of those the captures hold."""
        self._limits = limits
        logs = self.captures.joined_logs
        sets = {file.capture_set for file in files if file not in logs}
        seekable = [
            file.path for file in files if not file.is_stream and file.error is None and file not in logs
        ]
        may_rescan = seekable and brokers is None
        self._brokers = brokers or Brokers(rescan=(lambda: self._proven_in(seekable)) if may_rescan else None)
        if taps is None and brokers is None and len(sets) > 1:
            taps = _copy_marks(lambda: self._copies(seekable))
        arguments = (
            self.ports,
            lambda index: files[index].capture_set,
            self.key_logs,
            hosts,
            limits,
            taps,
            self._brokers,
        )
        self.analyzer = Analyzer(*arguments) if shard is None else _shard_analyzer(shard, arguments)
        if logs:
            self.analyzer.log_lines = _lines_of(logs)
        self.topics = TopicNames(topic_ids, (lambda: self._again(seekable)) if may_rescan else None)
        """Names of topic ids; `topic_ids` are known beforehand."""
        self.guard = Guard(files, self.analyzer)
        """Has what raises end one input only, where faults are not raised (`model.faults`)."""
        self.observer: Callable[[Events], None] | None = None
        """Sees all events before the iteration yields them (`kdissect.metrics`)."""
        self.warns = False
        """Whether the end of the iteration reports unread input (CaptureWarning)."""
        self.is_over = False
        """Whether the inputs were read to their ends."""

    def events(self) -> Iterator[Event]:
        """Yield everything that happens: exchanges, connections that open and close."""
        for events in self.batches():
            yield from events

    def batches(self) -> Iterator[Events]:
        """Yield the same in lists and blocks, at least one for the packets that are read together, also empty
        ones."""
        analyzer, feed = self.analyzer, self.guard.fed
        observer = self.observer
        for packets in self.captures.batches():
            if len(self.file_names) < len(self.captures.files):
                self._name_files()
            if observer is None:
                yield from feed(packets, analyzer)
            else:
                yield from map(self._observed, feed(packets, analyzer))
            yield _NOTHING
        yield from self.closing()
        self.is_over = True
        if self.warns:
            _warn_of(self)

    def closing(self, in_copy: bool = False) -> Iterator[Events]:
        """End the analysis with the packets so far, and yield its last events: connections that close.

        `batches` does so at its end. In a copy of the process, a capture that goes on can be ended so:
        `in_copy` saves memory of both.
        """
        self._name_files()
        ends, analyzer = ends_of(self.captures.files), self.analyzer
        if in_copy:
            analyzer.keep_memory()
        yield from map(self._observed, self.guard.closed(analyzer, lambda: analyzer.close_each(ends)))

    @property
    def joined(self) -> "Joined | None":
        """Counts of exchanges with and without a line in a request log; None before the end, and without such
        a log next to packets.
        """
        lines = self.analyzer.log_lines
        return lines.close() if lines is not None and self.is_over else None

    def unread(self) -> Unread:
        """Return what could not be looked into, as far as the inputs are read."""
        tally, parser = self.analyzer.tally(), self.analyzer.parser
        return Unread(
            tally.carrying, dict(tally.foreign), dict(tally.tls), dict(tally.partly),
            parser.packets, parser.tcp_segments, parser.malformed, dict(parser.others),
            dict(parser.unsupported),
            tuple(KeyLogUse(log.path, len(log.log), log.is_used) for log in self.key_logs.files),
            tally.tapped,
        )  # fmt: skip

    def _observed(self, events: Events) -> Events:
        if self.observer is not None:
            self.observer(events)
        return events

    def _name_files(self) -> None:
        for file in self.captures.files[len(self.file_names) :]:
            self.file_names.append(path_text(file.path))

    def _again(self, paths: list[str]) -> Iterator[Exchange]:
        """Return the exchanges of the files once more, for the names they show."""
        again = self._opened_again(paths)
        again._brokers.proven = self._brokers.proven  # noqa: SLF001  one of us
        return again.which_may_say_names()

    def _proven_in(self, paths: list[str]) -> Iterator[End]:
        """Yield the ends that the bytes of any connection prove to be brokers."""
        again = self._opened_again(paths)
        again._brokers.forget_rescan()  # noqa: SLF001  one of us
        for _ in again.batches():
            pass
        yield from again._brokers.proven  # noqa: SLF001

    def _copies(self, paths: list[str]) -> "Copies":
        """Return what connections of taps share with those of other capture sets, by the bytes of all files.

        Every process that analyzes some of the connections needs all of them: which copy counts depends on
        the other connections of its capture set.
        """
        from kdissect.engine.shards import Shard  # start-up: as `_copy_marks`
        from kdissect.engine.taps.copies import NO_COPIES, CopySearch
        from kdissect.engine.taps.tap_captures import ends_in, taps_in

        sets: dict[str, list[str]] = {}
        for file in self.captures.files:
            if file.path in paths:
                sets.setdefault(file.capture_set, []).append(file.path)
        taps = taps_in(sets) if len(sets) > 1 else None
        if not taps:
            return NO_COPIES
        ends = ends_in((sets[name] for name in taps), self.ports)
        again = self._opened_again(paths, Shard(0, 1, ends))
        again._brokers.forget_rescan()  # noqa: SLF001  one of us
        search = CopySearch(taps)
        for event in again.events():
            search.add(event)
        return search.copies()

    def _opened_again(self, paths: list[str], shard: "Shard | None" = None) -> "Dissection":
        from kdissect.engine.taps.duplicate_taps import DuplicateTaps  # start-up: not of one file read once

        ports = self.ports
        again = Dissection(
            paths, ports.brokers, None, self._key_log_paths, limits=self._limits, only_ports=ports.only,
            shard=shard, taps=DuplicateTaps() if len(paths) > 1 else None,
        )  # fmt: skip
        sets = {file.path: file.capture_set for file in self.captures.files}
        for file in again.captures.files:
            file.capture_set = sets.get(file.path, file.capture_set)
        return again

    def __iter__(self) -> Iterator[Exchange]:
        for events in self.batches():
            for event in events:
                if isinstance(event, Exchange):
                    yield event

    def which_may_say_names(self) -> Iterator[Exchange]:
        """Yield the exchanges from which `topics` can learn, and perhaps other ones."""
        from kdissect.engine.passed_blocks import PassedBlocks  # start-up: few captures are read twice

        passed = PassedBlocks(_may_say_names, copies=True)
        for events in self.batches():
            if isinstance(events, list):
                yield from (event for event in events if isinstance(event, Exchange))
                continue
            number = 0
            while (number := passed.count(events, number)) < len(events):
                yield events[number]
                number += 1


def _may_say_names(info: ConnectionInfo, api_key: int, _client_id: str | None) -> bool:
    # A request log does not have the records in which a Fetch names topics.
    return tells_names(api_key) or (api_key == FETCH and info.logged is None)


def _shard_analyzer(shard: "Shard", arguments: tuple[Any, ...]) -> Analyzer:
    from kdissect.engine.shards import ShardAnalyzer  # start-up: one process has no shards

    return ShardAnalyzer(shard, *arguments)


def _copy_marks(find: "Callable[[], Copies]") -> "DuplicateTaps":
    from kdissect.engine.taps.copies import CopyMarks  # start-up: one capture set has none

    return CopyMarks(find)


def _lines_of(logs: Sequence[CaptureFile]) -> "LogLines":
    from kdissect.engine.log_lines import LogLines  # start-up: of request logs next to packets

    return LogLines([file.batches() for file in logs])


def _captures(paths: Paths | Captures) -> Captures:
    if isinstance(paths, (str, PathLike)):
        return open_captures([str(paths)])
    if isinstance(paths, Sequence):
        return open_captures([str(path) for path in paths])
    return paths


def _warn_of(dissection: Dissection) -> None:
    """Warn of what is not there: errors, ends inside a packet, packets that the capturing host lost, and what
    could not be looked into.
    """
    captures = dissection.captures
    kinds = AnomalyKind.CUT_CAPTURE, AnomalyKind.DROPPED_PACKETS
    missing = [text for file in captures.files for text in file.anomaly_texts(*kinds)]
    for what in [*map(str, captures.errors), *missing, *dissection.unread().lines()]:
        warn(what, CaptureWarning, stacklevel=4)  # whoever iterates over the exchanges
