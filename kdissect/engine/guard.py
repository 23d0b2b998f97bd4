"""Keeps a fault of kdissect's own to the input at which it shows (`model.faults`).

If code raises while an input is current, that input ends there: its error names the packet and the reason, it
has no further events, and the other inputs continue. Its earlier results remain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from kdissect.capture.capture_file import CaptureFile
from kdissect.engine.analyzer import Analyzer
from kdissect.model.faults import fault_text
from kdissect.model.native import is_compiled, native
from kdissect.model.packets.packet import PlainPacket, ref_file, ref_number
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

Thing = TypeVar("Thing")
Given = TypeVar("Given", covariant=True)


class Feeder(Protocol[Given]):
    """An analyzer, or what feeds one."""

    @property
    def index(self) -> int:
        """Index of the packet that is being taken, or that completed the current event."""

    def feed_each(self, packets: Sequence[PlainPacket], without: Collection[int]) -> Iterator[Given]:
        """Take packets, without the packets of some files."""

    def feed_on(self, without: Collection[int]) -> Iterator[Given]:
        """Continue after the packet at which `feed_each` raised, without the packets of some files."""


class Guard:
    """Of one reading. `files` are its inputs by index, of which a live capture has ever more."""

    def __init__(self, files: Sequence[CaptureFile], analyzer: Analyzer) -> None:
        self._files = files
        self._feeder: Feeder[Any] = analyzer
        self._packets: Sequence[PlainPacket] = ()
        self._given: object = None  # by the feeder, last
        self.given_up: set[int] = set()
        """Indexes of the inputs that failed."""
        self.errors: list[str] = []
        """Faults of which no input is known."""

    @property
    def has_faults(self) -> bool:
        """Whether an input was stopped."""
        return bool(self.given_up or self.errors)

    def each(self, things: Iterable[Thing], take: Callable[[Thing], object]) -> None:
        """Call `take` with each thing (an event, or something built from it) until it returns True."""
        for thing in things:
            try:
                if take(thing) is True:
                    return
            except Exception as error:
                self.note(error, thing)

    def fed(self, packets: Sequence[PlainPacket], feeder: Feeder[Given]) -> Iterator[Given]:
        """Yield the results of `feeder` for packets that are read together, except packets of stopped
        inputs.
        """
        given_up = self.given_up
        self._packets, self._feeder = packets, feeder
        feeding = feeder.feed_each(packets, given_up)
        while True:
            known = len(given_up)
            try:
                for events in feeding:
                    yield from self._given_of(events)
                    if len(given_up) != known:
                        break
                else:
                    break
            except Exception as error:
                self.note(error)
            feeding = feeder.feed_on(given_up)

    def _given_of(self, events: Any) -> Iterator[Any]:
        """Yield events.

        If an input stops within a block, continue with the events of other files after that place.
        """
        while events is not None:
            self._given = events
            yield events
            is_block = is_compiled and isinstance(events, native.ExchangeBlock)
            events = events.take_rest() if is_block else None

    def closed(self, analyzer: Analyzer, close: Callable[[], Iterable[Thing]]) -> Iterator[Thing]:
        """Yield the results of `close`, which closes the analyzer, without those that raise."""
        self._packets, self._given = (), None
        left = analyzer.open_connections()
        while True:
            try:
                yield from close()
                return
            except Exception as error:
                self.note(error, analyzer.ended)
            now = analyzer.open_connections()
            if now >= left:
                return
            left = now

    def note(self, error: Exception, thing: object = None) -> None:
        """Stop the current input, or else the input that `thing` comes from.

        Raises the error where faults are raised, and if it is none.
        """
        why = fault_text(error)
        index, where = self._place_of(thing)
        if index is None:
            if not self.errors:
                self.errors.append(why)
        elif index not in self.given_up:
            self.given_up.add(index)
            self._files[index].give_up(f"given up at {where}: {why}")
            if is_compiled and isinstance(self._given, native.ExchangeBlock):
                self._given.cut(index)

    def _place_of(self, thing: object) -> tuple[int | None, str]:
        """Return the index of an input, and where in it."""
        if 0 <= self._feeder.index < len(self._packets):
            return _packet(self._packets[self._feeder.index][0])
        if isinstance(thing, Exchange):
            frame = thing.request or thing.response
            if frame is not None:
                return _packet(frame.first_ref)
        info = thing if isinstance(thing, ConnectionInfo) else getattr(thing, "connection", None)
        if isinstance(info, ConnectionInfo):
            sets = [file.capture_set for file in self._files]
            if info.capture_set in sets:
                return len(sets) - 1 - sets[::-1].index(info.capture_set), "the end of a connection"
        return None, ""


def _packet(ref: int) -> tuple[int, str]:
    return ref_file(ref), f"packet {ref_number(ref)}"
