"""The library's front door: captures in, exchanges out."""

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from kdissect.capture.files import CaptureSet, open_captures
from kdissect.engine.analyzer import Analyzer
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange

Paths = str | PathLike[str] | Sequence[str | PathLike[str]]


class Dissection:
    """The exchanges of one or more captures, read as they are asked for.

    Iterating gives `Exchange` objects in the order of their completion. Inputs that cannot be read do not
    raise: they stand in `captures.errors` once the iteration is over. Iterate once; open again to read again.
    """

    def __init__(self, paths: Paths, ports: Iterable[int] = ()) -> None:
        named = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        self.captures: CaptureSet = open_captures([str(path) for path in named])
        self.analyzer = Analyzer(frozenset(ports), self.captures.capture_set_of)

    @property
    def file_names(self) -> Sequence[str]:
        """Names of the inputs by file index; grows while directories and globs are opened."""
        return self.captures.names

    def events(self) -> Iterator[Event]:
        """Everything that happens: exchanges, connections that open and close."""
        feed = self.analyzer.feed
        for packet in self.captures.packets():
            events = feed(packet)
            if events:
                yield from events
        yield from self.analyzer.close()

    def __iter__(self) -> Iterator[Exchange]:
        for event in self.events():
            if isinstance(event, Exchange):
                yield event


def open(paths: Paths, ports: Iterable[int] = ()) -> Dissection:  # noqa: A001 - the name a user looks for
    """Dissect captures: `for exchange in kdissect.open("a.pcap"): ...`.

    `paths` is a file, a glob, a directory, `-` for standard input, or a list of these; `ports` are taken for
    Kafka brokers without detection.
    """
    return Dissection(paths, ports)
