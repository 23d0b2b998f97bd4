"""Definition of a rule: a code that is never reused, a claim with its source, and a check of one kind of
subject.

A rule is a class without state, with a base from `kinds`. State is in the `ConnectionView` or in `history`.
Checks yield a `Violation` for each fault. The judge adds the party, the place and the consequence.
"""

from typing import ClassVar, NamedTuple

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural

REQUEST = "request"
RESPONSE = "response"
BOTH_FRAMES = "request and response"
_SEVERITY = {Level.MUST: Severity.ERROR, Level.SHOULD: Severity.WARNING, Level.INFO: Severity.INFO}


class Violation(NamedTuple):
    """One thing wrong.

    `path` names a field below the body (`topics[2].name`), or `start` and `end` are offsets in the frame's
    content. Neither: the whole frame. `who` only where a rule judges both ends. `inconclusive` is the reason
    why no conclusion is possible. Then it is not a finding. `earlier` is the exchange (connection, ordinal)
    that the expectation comes from, where that is another one.
    """

    expected: str = ""
    seen: str = ""
    path: str = ""
    start: int = -1
    end: int = -1
    side: str = ""
    who: Who | None = None
    inconclusive: str = ""
    earlier: tuple[str, int] | None = None


class Once:
    """How often a rule speaks: about each thing that is wrong, or once for each of these."""

    EACH = "each"
    CONNECTION = "connection"
    PARTY = "party"  # the end that is judged (`findings.who_of`), and API and version
    SOFTWARE = "software"  # of clients (those without one count by host), or the broker
    VALUE = "value"  # what was seen, in the whole input


class Rise(NamedTuple):
    """Limit at which a note becomes a warning: a number of occurrences, and a rate from first to last."""

    times: int
    per_second: int

    def __str__(self) -> str:
        return f"{plural(self.times, 'time')} or more, {self.per_second} a second on average"

    def holds(self, times: int, span_ns: int) -> bool:
        """Return whether this number of occurrences in that time is a warning."""
        return times >= self.times and times * 1_000_000_000 >= self.per_second * span_ns


class Rule:
    """Base of every rule.

    `who` is None where both ends can break it. `needs` is the part of the traffic that must be in the
    capture, if it is less than the connection. `needs_start`: a rule that the unseen beginning of a
    connection could explain; `needs_whole`: one that bytes missing from the capture could explain. Both are
    then inconclusive. `rises` is for rules about brokers alone. `overrides` are codes that stay silent about
    an exchange this rule has spoken of: they would report the same cause. `misleads`: the frame is none that
    its sender has to send, so that later frames may be read at wrong positions (`views.doubt`). `confuses`:
    the response fits, but it is not the one that the client waits for.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    level: ClassVar[Level] = Level.MUST
    claim: ClassVar[Claim] = Claim.MALFORMED
    severity: ClassVar[Severity | None] = None
    who: ClassVar[Who | None] = None
    cites: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[str] = "the frame alone"
    needs_start: ClassVar[bool] = False
    needs_whole: ClassVar[bool] = False
    once: ClassVar[str] = Once.EACH
    rises: ClassVar[Rise | None] = None
    overrides: ClassVar[tuple[str, ...]] = ()
    misleads: ClassVar[bool] = False
    confuses: ClassVar[bool] = False

    @classmethod
    def effective_severity(cls) -> Severity:
        """Return the rule's own severity, or its level's."""
        return cls.severity or _SEVERITY[cls.level]

    @property
    def stands_alone(self) -> bool:
        """Whether its findings change nothing for other rules, and not for itself either."""
        changes = self.overrides or self.misleads or self.confuses
        return not changes and self.once != Once.CONNECTION

    @property
    def vantage(self) -> str:
        """The part of the traffic that must be in the capture."""
        if self.needs_start and self.needs_whole:
            return "the whole connection, from its first byte"
        if self.needs_start:
            return "the connection from its first byte"
        return "the connection without a hole" if self.needs_whole else self.needs
