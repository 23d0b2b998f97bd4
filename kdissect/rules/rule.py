"""What a rule is: a code that is never reused, a claim with its source, and a check of one kind of subject.

A rule is a class without state, of one of the `kinds`; what it must remember stands in the `ConnectionView`
or in `history`. Checks yield a `Violation` for each thing wrong; the judge adds who, where and what came of
it.
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
    content; neither: the whole frame. `who` only where a rule judges both ends. `inconclusive` says why
    nothing can be said; then it is no finding. `earlier` is the exchange (connection, ordinal) that the
    expectation comes from, where that is another one.
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
    SOFTWARE = "software"  # of clients; clients without one are one for each host; or the broker
    VALUE = "value"  # what was seen, in the whole input


class Rise(NamedTuple):
    """What makes a warning of what is worth a look once: so many times, so often from first to last."""

    times: int
    per_second: int

    def __str__(self) -> str:
        return f"{plural(self.times, 'time')} or more, {self.per_second} a second on average"

    def holds(self, times: int, span_ns: int) -> bool:
        """Whether something that was found so many times in that time is a warning."""
        return times >= self.times and times * 1_000_000_000 >= self.per_second * span_ns


class Rule:
    """Base of every rule.

    `who` is None where both ends can break it. `needs` says what of the traffic must be in the capture, where
    it is less than the connection. `needs_start`: a rule that the unseen beginning of a
    connection could explain; `needs_whole`: one that bytes missing from the capture could explain. Both are
    then inconclusive. `rises` is for rules about brokers alone. `overrides` are codes that stay silent about
    an exchange this rule has spoken of: they would report the same cause. `misleads`: the frame is none that
    its sender has to send, so that later frames may be read where none begin (`views.doubt`). `confuses`: the
    response fits, but it is not the one that the client waits for.
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
        """The severity: that of the level unless the rule names another."""
        return cls.severity or _SEVERITY[cls.level]

    @property
    def vantage(self) -> str:
        """What of the traffic must be in the capture."""
        if self.needs_start and self.needs_whole:
            return "the whole connection, from its first byte"
        if self.needs_start:
            return "the connection from its first byte"
        return "the connection without a hole" if self.needs_whole else self.needs
