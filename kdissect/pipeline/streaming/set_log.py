"""What a capture set went through, for as long as it may have to be gone through again.

Histories and statistics take events in their order, and none of them back. Where it turns out that another
set counts a connection, or what a topic is called, the state of the set begins again from an older one, with
what every batch brought since (`Segment`).

Rules:
- States stay of the last batches, and of ever fewer before them; segments since the oldest state.
- Both go when the set's capture is `KEPT_NS` further, or when segments have more than `_LOG_BYTES`: what
  turns out later changes rows, and leaves counts as they are.
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
    """What a batch brought: forwarded events in their order, and connections that are over."""

    forwarded: tuple[Ordered, ...] = ()
    judged: tuple[Judged, ...] = ()

    def packed(self) -> bytes:
        """As bytes."""
        return zlib.compress(pickle.dumps(tuple(self)), _FAST)

    @classmethod
    def unpacked(cls, data: bytes) -> Segment:
        """What `packed` gave: it comes out of the checkpoint."""
        return cls(*pickle.loads(zlib.decompress(data)))


class Step(NamedTuple):
    """One batch of a capture set: where the state behind it is, None where it is kept no more or was none,
    and what it brought. `last_ns` is how far the capture was. `silent` are the files that the state names.
    """

    batch: int
    state: str | None
    segment: str | None
    bytes: int
    last_ns: int | None
    silent: tuple[str, ...] = ()


class SetRecord(NamedTuple):
    """A capture set between two batches. `steps` are those that are remembered: the first has a state, or is
    the beginning; what it brought is in it.

    `open_` is what was open when the set had caught up, None while it has not. `marks` are connections that
    others count instead, with those, and how far the capture was when something of them came last: one that
    is open has a packet, or comes to its end, within half an hour. `flows` are all files of its shards, and
    `settled` the groups of flows among them of which nothing comes.
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
        """The step to begin from so that all of the batches from `since` on come again, and those behind."""
        at = len(self.steps) - 1
        if since is not None:
            fitting = [
                number for number, step in enumerate(self.steps)
                if step.batch < since and (step.state is not None or step.batch < 0)
            ]  # fmt: skip
            at = fitting[-1] if fitting else 0
        return self.steps[at], self.steps[at + 1 :]

    def stepped(self, step: Step, since: int | None) -> SetRecord:
        """With one more batch; states that were behind `since` are wrong and go."""
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
        """With the marks of its connections that a batch tells."""
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
    """The newest state behind which all is that may have to come again."""
    newest_ns, found = steps[-1].last_ns, 0
    for at, step in enumerate(steps):
        if step.state is None:
            continue
        is_old = None not in (newest_ns, step.last_ns) and newest_ns - step.last_ns > KEPT_NS  # type: ignore[operator]
        if is_old or sum(later.bytes for later in steps[at:]) > _LOG_BYTES:
            found = at
    return found


def _stays(step: Step, newest: int) -> bool:
    """Whether a state is kept: of n batches ago it is one of some n / 4."""
    every = 1 << max(0, (newest - step.batch).bit_length() - 2)
    return step.batch % every == 0
