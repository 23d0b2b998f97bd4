"""Goes through index files and producer snapshots that were named, for `kdissect segments`."""

from argparse import Namespace
from collections.abc import Iterator

from kdissect.cli.segment_files import base_offset, beside, chunks, content
from kdissect.cli.troubles import MAX_LINES, Troubles
from kdissect.engine.indexes.index_file import IndexFile
from kdissect.engine.indexes.kinds import KINDS, SNAPSHOT
from kdissect.engine.indexes.producer_states import ProducerStates
from kdissect.engine.indexes.segment_places import SegmentPlaces
from kdissect.engine.rows import Row
from kdissect.engine.segment_reader import PlacedBatch, SegmentReader
from kdissect.engine.segment_rows import place_of
from kdissect.model.wording import path_text


class IndexWalk:
    """`rows()` of files of one kind; what is wrong goes to `troubles`."""

    def __init__(self, options: Namespace, suffix: str, troubles: Troubles) -> None:
        self._options = options
        self._suffix = suffix
        self._kind = KINDS[suffix]
        self._troubles = troubles
        self._number = 0

    def rows(self) -> Iterator[Row]:
        """A row for each entry."""
        for path in self._options.paths:
            yield from self._troubles.bounded(path, self._entries(path))

    def _entries(self, path: str) -> Iterator[Row]:
        index: IndexFile = self._kind(content(path), base_offset(path))
        self._troubles.opened = True
        topic, partition = place_of(path, self._options.topic)
        faults = list(index.faults)
        places = None if self._suffix == SNAPSHOT else _places(beside(path, self._suffix, ".log"))
        for entry in index.entries(places):
            self._number += 1
            head = {"number": self._number, "file": path_text(path), "topic": topic, "partition": partition}
            yield {**head, "entry": entry.number, **entry.row, "faults": entry.faults}
            if entry.faults and len(faults) < MAX_LINES:
                faults += entry.told()
        if places is not None:
            faults += index.missing(places)
        self._troubles.tell_some(path, faults)


def _places(segment: str) -> SegmentPlaces | None:
    """What the segment beside an index holds; None where there is none to read."""
    places = SegmentPlaces(base_offset(segment))
    states = ProducerStates()
    try:
        for placed in _batches(segment):
            places.add(placed)
            aborted = states.add(placed.batch)
            if aborted is not None:
                places.add_aborted(*aborted)
    except OSError:
        return None
    return places


def _batches(segment: str) -> Iterator[PlacedBatch]:
    reader = SegmentReader()
    for data in chunks(segment):
        yield from reader.feed(data)
    yield from reader.close()
