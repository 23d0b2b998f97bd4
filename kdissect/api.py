"""The library's front door: captures in, exchanges out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from kdissect.capture.files import Captures, ends_of, open_captures
from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.history.topics import TopicNames
from kdissect.model.limits import Limits
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

if TYPE_CHECKING:
    from kdissect.engine.shards import Place, Shard
    from kdissect.engine.twins import Twins

_NOTHING: list[Event] = []
Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class Dissection:
    """The exchanges of one or more captures, read as they are asked for.

    Iterating gives `Exchange` objects in the order of their completion. Inputs that cannot be read do not
    raise: they stand in `captures.errors` once the iteration is over. Iterate once; open again to read again.
    `topic_ids` and `hosts` are names of topic ids and of addresses (`model.hosts`).
    `limits` bound what is held of connections (docs/limits.md); None: those of the process (`model.limits`).
    With a `shard` (`engine.shards`) `placed` gives what one of several processes tells.
    """

    def __init__(
        self,
        paths: Paths | Captures,
        ports: Iterable[int] = (),
        topic_ids: Mapping[bytes, str] | None = None,
        key_logs: Sequence[str] = (),
        hosts: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        shard: "Shard | None" = None,
    ) -> None:
        self.captures: Captures = _captures(paths)
        files = self.captures.files
        self.file_names = [_text(file.path) for file in files]
        """Names of the inputs by file index, as they stand in rows. Those of a live capture come with it."""
        self.ports = frozenset(ports)
        """Ports taken for brokers without detection."""
        self._key_log_paths = tuple(key_logs)
        self.key_logs = KeyLogs(self._key_log_paths, may_grow=self.captures.is_live, captures=files)
        """Secrets of TLS: of the files named, and of those the captures hold."""
        self._limits = limits
        sets = {file.capture_set for file in files}
        self.analyzer = _analyzer(
            shard,
            self.ports,
            lambda index: files[index].capture_set,
            self.key_logs,
            hosts,
            limits,
            _twins() if len(sets) > 1 else None,
        )
        seekable = [file.path for file in files if not file.is_stream and file.error is None]
        self.topics = TopicNames(topic_ids, (lambda: self._again(seekable)) if seekable else None)
        """Names of topic ids; `topic_ids` are known beforehand."""
        self.observer: Callable[[Event], None] | None = None
        """Sees each event before it is given (`kdissect.metrics`)."""

    def events(self) -> Iterator[Event]:
        """Everything that happens: exchanges, connections that open and close."""
        for events in self.batches():
            yield from events

    def batches(self) -> Iterator[list[Event]]:
        """The same in lists, at least one for the packets that are read together, also empty ones."""
        feed = self.analyzer.feed_each
        observer = self.observer
        for packets in self.captures.batches():
            if len(self.file_names) < len(self.captures.files):
                self._name_files()
            if observer is None:
                yield from feed(packets)
            else:
                yield from map(self._observed, feed(packets))
            yield _NOTHING
        self._name_files()
        yield from map(self._observed, self.analyzer.close_each(ends_of(self.captures.files)))

    def placed(self) -> "Iterator[Iterator[tuple[Place, Event]]]":
        """The events of the shard with their places, for the packets that are read together."""
        from kdissect.engine.shards import ShardAnalyzer

        analyzer = self.analyzer
        assert isinstance(analyzer, ShardAnalyzer), "made without a shard"
        for packets in self.captures.batches():
            yield analyzer.placed(packets)
        yield analyzer.placed_end(ends_of(self.captures.files))

    def _observed(self, events: list[Event]) -> list[Event]:
        if self.observer is not None:
            for event in events:
                self.observer(event)
        return events

    def _name_files(self) -> None:
        for file in self.captures.files[len(self.file_names) :]:
            self.file_names.append(_text(file.path))

    def _again(self, paths: list[str]) -> Iterator[Exchange]:
        """The exchanges of the files once more, for the names they tell."""
        return iter(Dissection(paths, self.ports, key_logs=self._key_log_paths, limits=self._limits))

    def __iter__(self) -> Iterator[Exchange]:
        for events in self.batches():
            for event in events:
                if isinstance(event, Exchange):
                    yield event


def _analyzer(shard: "Shard | None", *of_analyzer: Any) -> Analyzer:
    if shard is None:
        return Analyzer(*of_analyzer)
    from kdissect.engine.shards import ShardAnalyzer

    return ShardAnalyzer(shard, *of_analyzer)


def _twins() -> "Twins":
    from kdissect.engine.twins import Twins  # one capture set has none

    return Twins()


def _captures(paths: Paths | Captures) -> Captures:
    if isinstance(paths, (str, PathLike)):
        return open_captures([str(paths)])
    if isinstance(paths, Sequence):
        return open_captures([str(path) for path in paths])
    return paths


def _text(path: str) -> str:
    """A path as text that can be written as UTF-8: names of files are bytes, and need not be text."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def open(  # noqa: A001 - the name a user looks for
    paths: Paths, ports: Iterable[int] = (), key_logs: Sequence[str] = ()
) -> Dissection:
    """Dissect captures: `for exchange in kdissect.open("a.pcap"): ...`.

    `paths` is a file, a glob, a directory, `-` for standard input, or a list of these; `ports` are taken for
    Kafka brokers without detection; `key_logs` are NSS key logs (SSLKEYLOGFILE) that open TLS.
    """
    return Dissection(paths, ports, key_logs=key_logs)
