"""The steps of a capture set, for as long as it may have to repeat them.

Histories and statistics take events in their order and cannot remove one. If a later batch shows that another
set counts a connection, or names a topic, the state of the set begins again from an older one, with the
segments of every batch since (`Segment`).

Rules:
- States stay of the last batches, and of ever fewer before them. Segments stay since the oldest state.
- Both are removed when the set's capture is `KEPT_NS` further, or when segments have more than `_LOG_BYTES`:
  later facts then change rows, and leave counts as they are.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from kdissect.pipeline.streaming.flows.ends_digest import Ordered
from kdissect.pipeline.streaming.flows.flow import Judged
from kdissect.pipeline.streaming.flows.known_duplicate_taps import KEPT_NS, Mark
from kdissect.pipeline.streaming.flows.settled_flows import Group

# Of one capture set: compressed events, some 300 bytes each.
_LOG_BYTES = 256 << 20
_FAST = 1  # of zlib


class Segment(NamedTuple):
    """The events of a batch: forwarded events in their order, and connections that are over."""

    forwarded: tuple[Ordered, ...] = ()
    judged: tuple[Judged, ...] = ()

    def packed(self) -> bytes:
        """Return the segment as bytes."""
        return zlib.compress(pickle.dumps(tuple(self)), _FAST)

    @classmethod
    def unpacked(cls, data: bytes) -> Segment:
        """Unpack the result of `packed`, which comes from the checkpoint."""
        return cls(*pickle.loads(zlib.decompress(data)))


class Step(NamedTuple):
    """One batch of a capture set: the file of the state after it, None if there is none any more or was none,
    and the file of its segment. `last_ns` is the time up to which the capture was read. `silent` are the
    files that the state names.
    """

    batch: int
    state: str | None
    segment: str | None
    bytes: int
    last_ns: int | None
    silent: tuple[str, ...] = ()


class SetRecord(NamedTuple):
    """A capture set between two batches. `steps` are the steps that are still stored: the first one has a
    state, or is the beginning, and its state includes its segment.

    `open_` is the file of open flows when the set had caught up, None while it has not. `marks` maps
    connections to the connections that other sets count instead, with the time of the capture when a mark
    last came. An open connection has a packet, or comes to its end, within half an hour. `flows` are all
    files of its shards, and `settled` the groups of flows among them without new packets.
    """

    set_name: str
    steps: tuple[Step, ...]
    open_: str | None = None
    judgement: str | None = None
    flows: tuple[str, ...] = ()
    settled: tuple[Group, ...] = ()
    marks: dict[str, tuple[str, int]] = {}  # noqa: RUF012  replaced, never changed

    @property
    def paths(self) -> set[str]:
        """All files that it names."""
        found = {path for step in self.steps for path in (step.state, step.segment)}
        found |= {path for step in self.steps if step.state is not None for path in step.silent}
        return {path for path in (*found, *self.flows, self.open_, self.judgement) if path is not None}

    def begin(self, since: int | None) -> tuple[Step, tuple[Step, ...]]:
        """Return the step to begin from to repeat all batches from `since` on, and the steps after it."""
        at = len(self.steps) - 1
        if since is not None:
            fitting = [
                number for number, step in enumerate(self.steps)
                if step.batch < since and (step.state is not None or step.batch < 0)
            ]  # fmt: skip
            at = fitting[-1] if fitting else 0
        return self.steps[at], self.steps[at + 1 :]

    def stepped(self, step: Step, since: int | None) -> SetRecord:
        """Return the record with one more batch. States after `since` are wrong and are removed."""
        steps = self.steps
        if since is not None:
            first, rest = self.begin(since)
            kept = steps[: steps.index(first) + 1]
            steps = (*kept, *(one._replace(state=None) for one in rest))
        steps = _remembered((*steps, step))
        newest_ns = step.last_ns or 0
        marks = {name: mark for name, mark in self.marks.items() if newest_ns - mark[1] <= KEPT_NS}
        return self._replace(steps=steps, marks=marks)

    def marked(self, marks: Iterable[Mark], last_ns: int | None) -> SetRecord:
        """Return the record with a batch's marks of its connections."""
        found = dict(self.marks)
        for mark in marks:
            found.pop(mark.connection, None)
            if mark.root is not None:
                found[mark.connection] = mark.root, last_ns or 0
        return self._replace(marks=found)


FIRST = Step(-1, None, None, 0, None)


def _remembered(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    newest = steps[-1]
    stays = [_stays(step, newest.batch) for step in steps]
    dropped = [
        step if keep or number == 0 else step._replace(state=None)
        for number, (step, keep) in enumerate(zip(steps, stays, strict=True))
    ]
    first = _first(dropped)
    return (dropped[first]._replace(segment=None, bytes=0), *dropped[first + 1 :])


def _first(steps: list[Step]) -> int:
    """Return the newest state with all batches after it that may have to be repeated."""
    newest_ns, found = steps[-1].last_ns, 0
    for at, step in enumerate(steps):
        if step.state is None:
            continue
        is_old = None not in (newest_ns, step.last_ns) and newest_ns - step.last_ns > KEPT_NS  # type: ignore[operator]
        if is_old or sum(later.bytes for later in steps[at:]) > _LOG_BYTES:
            found = at
    return found


def _stays(step: Step, newest: int) -> bool:
    """Return whether a state stays: n batches ago, about one in n / 4 does."""
    every = 1 << max(0, (newest - step.batch).bit_length() - 2)
    return step.batch % every == 0
