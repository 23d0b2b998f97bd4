"""The events of one producer or transactional id, in order: retries, gaps, refusals, fencing."""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from kdissect.history.fact import Fact
from kdissect.schema.error_codes import error_name

EVENTS_KEPT = 50  # the most recent ones of a producer, while earlier ones are only counted


class ProducerEvent(NamedTuple):
    """One thing that happened. `exchange` names it as `inspect --exchange` takes it."""

    time_ns: int
    what: str
    where: str
    expected: str
    seen: str
    detail: str
    exchange: str


class ProducerLog:
    """The last events, and the number of each kind. `errors` are the errors in brokers' answers."""

    __slots__ = ("counts", "errors", "events")

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.events: deque[ProducerEvent] = deque(maxlen=EVENTS_KEPT)

    def add(self, fact: Fact, where: str, error: str | None) -> None:
        """Keep a fact; `error` is the name of the error code in it."""
        self.counts[str(fact.kind)] += 1
        if error is not None:
            self.errors[error] += 1
        evidence = fact.evidence
        seen = error or _words(fact.seen)
        self.events.append(
            ProducerEvent(
                evidence.sent_ns, str(fact.kind), where, "" if error else _words(fact.expected), seen,
                _detail(fact.detail), f"{evidence.connection}/{evidence.ordinal}",
            )
        )  # fmt: skip


def _detail(text: str) -> str:
    """Return the outcome of a batch that was sent again, with the error by name."""
    word, _, code = text.partition(" ")
    return error_name(int(code)) if word == "error" and code.isdigit() else text


def _words(value: object) -> str:
    """Return a value of a fact: (producer id, epoch) as `id 5 epoch 2`."""
    if value is None:
        return ""
    if isinstance(value, tuple) and len(value) == 2:
        return f"id {value[0]} epoch {value[1]}"
    return str(value)
