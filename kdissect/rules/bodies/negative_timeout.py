"""BDY024: A timeout must not be negative."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Fault
from kdissect.rules.views.body_view import Body

_FIELDS = ("timeout_ms", "max_wait_ms", "session_timeout_ms")
_APIS = (
    "Produce", "Fetch", "JoinGroup", "CreateTopics", "DeleteTopics", "DeleteRecords", "CreatePartitions",
    "ElectLeaders", "ShareFetch",
)  # fmt: skip


class NegativeTimeout(BodyRule):
    """A timeout must not be negative.

    The broker would give up at once, or never. Fields where -1 means "unchanged" or "default" are left out.

    Example: Produce with timeout_ms -1.

    What to do: send the time the broker may take, in milliseconds.
    """

    code = "BDY024"
    name = "negative-timeout"
    severity = Severity.WARNING
    who = Who.CLIENT
    cites = ("spec/000 Produce API", "spec/003 JoinGroup API")
    only_odd = True
    on = tuple((name, REQUEST) for name in _APIS)

    def check(self, body: Body) -> Iterator[Fault]:
        """The timeouts of a request."""
        for name in _FIELDS:
            value = getattr(body.value, name, None)
            if value is not None and value < 0:
                yield body.fault(name, "0 or more", str(value))
