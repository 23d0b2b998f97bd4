"""FET007: A fetch should be answered within max_wait_ms."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.rules.guards import LaterThan
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Once, Violation
from kdissect.rules.views.body_view import Body

# Time for the network and quotas beyond max_wait_ms.
_SLACK_NS = 1_000_000_000


class LateFetch(BodyRule):
    """A fetch should be answered within max_wait_ms.

    The broker waits for min_bytes at most that long. A second of slack is given for the network and quotas.

    Example: max_wait_ms 500, answered after 3 s.

    What to do: look at the broker's load; clients may time out.
    """

    code = "FET007"
    name = "late-fetch"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/000 Fetch API",)
    on = (("Fetch", RESPONSE),)
    once = Once.SOFTWARE
    guard = (LaterThan(".max_wait_ms", _SLACK_NS),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Latency against the request's wait, without a throttle."""
        asked, latency = body.other(), body.exchange.latency_ns
        if asked is None or latency is None or getattr(body.value, "throttle_time_ms", None):
            return
        if latency > asked.max_wait_ms * 1_000_000 + _SLACK_NS:
            yield Violation(
                f"an answer within {asked.max_wait_ms} ms", f"{latency / 1e6:.0f} ms", side=RESPONSE
            )
