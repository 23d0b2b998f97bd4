"""The causes of two captures: causes that are new in the second, worse, unchanged, better, or gone."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from kdissect.model.cause import Diagnosis, FoundCause, are_apart

_FACTOR = 2.0  # from which on the same cause is worse, or better


class State(StrEnum):
    """Result of comparing a cause. Names are output."""

    NEW = "new"
    WORSE = "worse"
    SAME = "same"
    BETTER = "better"
    GONE = "gone"


class ComparedCause(NamedTuple):
    """A cause of one capture or both."""

    state: State
    good: FoundCause | None
    bad: FoundCause | None

    def facts(self) -> dict[str, Any]:
        """Return the parts by name, for JSON."""
        there = self.bad or self.good
        assert there is not None
        return {
            "state": str(self.state),
            "id": there.id,
            "title": there.title,
            "sentence": there.sentence,
            "who": there.who,
            "good_times": 0 if self.good is None else self.good.times,
            "bad_times": 0 if self.bad is None else self.bad.times,
            "good_cost": None if self.good is None else self.good.cost._asdict(),
            "bad_cost": None if self.bad is None else self.bad.cost._asdict(),
        }


def compared(good: Diagnosis, bad: Diagnosis) -> list[ComparedCause]:
    """Compare the causes of two captures: new causes come first, then worse, unchanged, better and former
    ones, each in the order of its capture.

    Two causes match if they have the same id. Among several with one id, those with the most common parties
    match.
    """
    alike = sorted(
        (-len(one.parties & cause.parties), number, at)
        for number, cause in enumerate(bad.causes)
        for at, one in enumerate(good.causes)
        if one.id == cause.id and not are_apart(one.parties, cause.parties)
    )
    left = dict(enumerate(good.causes))
    pairs: dict[int, FoundCause] = {}
    for _, number, at in alike:
        if number not in pairs and at in left:
            pairs[number] = left.pop(at)
    found = [_of(pairs.get(number), cause) for number, cause in enumerate(bad.causes)]
    found += [ComparedCause(State.GONE, cause, None) for cause in left.values()]
    order = list(State)
    return sorted(found, key=lambda one: order.index(one.state))


def _of(good: FoundCause | None, bad: FoundCause) -> ComparedCause:
    if good is None:
        return ComparedCause(State.NEW, None, bad)
    before, now = (one.cost.weight or float(one.times) for one in (good, bad))
    if now >= _FACTOR * before:
        return ComparedCause(State.WORSE, good, bad)
    return ComparedCause(State.BETTER if now * _FACTOR <= before else State.SAME, good, bad)


def against(good: Diagnosis, bad: Diagnosis) -> Diagnosis:
    """Return the causes in `bad` that `good` lacks, or has in a lesser form."""
    found = compared(good, bad)
    names = {
        state: [(one.bad or one.good) for one in found if one.state is state]
        for state in (State.SAME, State.BETTER, State.GONE)
    }
    lines = [
        f"{_WORDS[state]} {', '.join(dict.fromkeys(one.id for one in causes if one is not None))}"
        for state, causes in names.items()
        if causes
    ]
    kept = [one.bad for one in found if one.state in (State.NEW, State.WORSE) and one.bad is not None]
    return bad._replace(causes=tuple(kept), looked_at=(*bad.looked_at, *lines), against=good.files)


_WORDS = {
    State.SAME: "in what it is compared with, too:",
    State.BETTER: "better than in what it is compared with:",
    State.GONE: "only in what it is compared with:",
}
