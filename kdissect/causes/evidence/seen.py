"""Something that happened several times: how often, from when to when, and where first."""

from __future__ import annotations

from array import array
from operator import add

from kdissect.history.fact import Evidence
from kdissect.model.cause import Packets
from kdissect.model.packets.logged import Phases
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import FIRST_ORPHAN_ORDINAL

EVIDENCE_KEPT = 3  # exchanges of each kind: the first ones
SPANS_KEPT = 1_000  # spans between two moments, apart from each other: the first ones, 16 bytes each


class Seen:
    """Things of one kind. `time_ns` is the sum of their durations, and `phases` that of the parts which a
    request log has of them; None without a log.
    """

    __slots__ = (
        "connections", "evidence", "first_ns", "last_ns", "longest_ns", "phases", "spans", "time_ns", "times",
    )  # fmt: skip

    def __init__(self) -> None:
        self.times = 0
        self.time_ns = self.longest_ns = 0
        self.first_ns = self.last_ns = 0
        self.evidence: list[Packets] = []
        self.connections: set[str] = set()
        self.phases: Phases | None = None
        self.spans = array("q")
        """Of stalls with a known end: start and end, in order."""

    def add(self, packets: Packets, time_ns: int = 0, until_ns: int | None = None) -> None:
        """Another one, which took so long, until a moment."""
        if until_ns is not None:
            self._fill(until_ns - time_ns, until_ns)
        at_ns = packets.time_ns
        self.first_ns = min(self.first_ns, at_ns) if self.times else at_ns
        self.last_ns = max(self.last_ns, at_ns) if self.times else at_ns
        self.times += 1
        self.time_ns += time_ns
        self.longest_ns = max(self.longest_ns, time_ns)
        # An exchange may fail for several topics: it is listed once.
        if len(self.evidence) < EVIDENCE_KEPT and packets not in self.evidence:
            self.evidence.append(packets)
        if len(self.connections) < EVIDENCE_KEPT * 100:
            self.connections.add(packets.connection)

    def add_phases(self, phases: Phases | None) -> None:
        """Add the times at the broker that a request log has."""
        if phases is not None:
            before = self.phases or (0,) * len(phases)
            self.phases = Phases(*map(add, before, phases))

    def _fill(self, from_ns: int, until_ns: int) -> None:
        """Make one of a time and the last one if they touch: requests wait behind each other."""
        spans = self.spans
        if spans and spans[-2] <= from_ns <= spans[-1]:
            spans[-1] = max(until_ns, spans[-1])
        elif len(spans) < 2 * SPANS_KEPT:
            spans.extend((from_ns, until_ns))

    def merge(self, other: Seen) -> None:
        """Take all of another one."""
        if not other.times:
            return
        self.first_ns = min(self.first_ns, other.first_ns) if self.times else other.first_ns
        self.last_ns = max(self.last_ns, other.last_ns) if self.times else other.last_ns
        self.times += other.times
        self.time_ns += other.time_ns
        self.longest_ns = max(self.longest_ns, other.longest_ns)
        both = sorted(dict.fromkeys([*self.evidence, *other.evidence]), key=lambda each: each.time_ns)
        self.evidence = both[:EVIDENCE_KEPT]
        self.connections |= other.connections
        self.spans += other.spans
        self.add_phases(other.phases)

    @property
    def filled_ns(self) -> tuple[int, int, int]:
        """How much time was within `spans`, the most of it without a gap, and from the first to the last."""
        filled_ns = longest_ns = 0
        spans = sorted(zip(self.spans[::2], self.spans[1::2], strict=True))
        begin_ns = reached_ns = first_ns = spans[0][0] if spans else 0
        for from_ns, until_ns in spans:
            if from_ns > reached_ns:
                begin_ns = reached_ns = from_ns
            filled_ns += max(until_ns - reached_ns, 0)
            reached_ns = max(reached_ns, until_ns)
            longest_ns = max(longest_ns, reached_ns - begin_ns)
        return filled_ns, longest_ns, reached_ns - first_ns

    @property
    def span_ns(self) -> int:
        """From the first to the last."""
        return self.last_ns - self.first_ns


def packets_of(evidence: Evidence) -> Packets:
    """Return where an exchange is."""
    request, response = evidence.request, evidence.response
    refs = [ref for pair in (request, response) if pair is not None for ref in pair]
    version = "" if evidence.api_version is None else f" v{evidence.api_version}"
    what = "frame" if evidence.api_key is None else (api_name(evidence.api_key) or f"key {evidence.api_key}")
    ordinal = evidence.ordinal if evidence.ordinal < FIRST_ORPHAN_ORDINAL else -1
    return Packets(
        evidence.connection,
        ordinal,
        f"{what}{version}",
        evidence.sent_ns or evidence.answered_ns,
        min(refs, default=0),
        max(refs, default=0),
    )
