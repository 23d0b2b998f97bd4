"""The library's front door: captures in, exchanges out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike

from kdissect.capture.files import CaptureSet, open_captures
from kdissect.capture.key_logs import KeyLogs
from kdissect.engine.analyzer import Analyzer
from kdissect.history.topics import TopicNames
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class Dissection:
    """The exchanges of one or more captures, read as they are asked for.

    Iterating gives `Exchange` objects in the order of their completion. Inputs that cannot be read do not
    raise: they stand in `captures.errors` once the iteration is over. Iterate once; open again to read again.
    `topic_ids` and `hosts` are names of topic ids and of addresses (`model.hosts`).
    """

    def __init__(
        self,
        paths: Paths,
        ports: Iterable[int] = (),
        topic_ids: Mapping[bytes, str] | None = None,
        key_logs: Sequence[str] = (),
        hosts: Mapping[str, str] | None = None,
    ) -> None:
        named = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        self.captures: CaptureSet = open_captures([str(path) for path in named])
        files = self.captures.files
        self.file_names = [_text(file.path) for file in files]
        """Names of the inputs by file index, as they stand in rows."""
        self.ports = frozenset(ports)
        """Ports taken for brokers without detection."""
        self._key_log_paths = tuple(key_logs)
        self.key_logs = KeyLogs(
            self._key_log_paths, may_grow=any(file.is_stream for file in files), captures=files
        )
        """Secrets of TLS: of the files named, and of those the captures hold."""
        self.analyzer = Analyzer(self.ports, lambda index: files[index].capture_set, self.key_logs, hosts)
        seekable = [file.path for file in files if not file.is_stream and file.error is None]
        self.topics = TopicNames(topic_ids, (lambda: self._again(seekable)) if seekable else None)
        """Names of topic ids; `topic_ids` are known beforehand."""

    def events(self) -> Iterator[Event]:
        """Everything that happens: exchanges, connections that open and close."""
        feed = self.analyzer.feed_each
        for packets in self.captures.batches():
            for events in feed(packets):
                yield from events
        yield from self.analyzer.close(self.captures.ends())

    def _again(self, paths: list[str]) -> Iterator[Exchange]:
        """The exchanges of the files once more, for the names they tell."""
        return iter(Dissection(paths, self.ports, key_logs=self._key_log_paths))

    def __iter__(self) -> Iterator[Exchange]:
        for event in self.events():
            if isinstance(event, Exchange):
                yield event


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
