"""Rules: how long a fetch waits."""

from collections.abc import Iterator, Sequence
from typing import Any

from kdissect.decoders.generated.values import sent
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import (
    Above,
    All,
    Empty,
    InRequest,
    LaterThan,
    LessThanAsked,
    Longer,
    Not,
    Other,
    SoonerThanHalf,
)
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Once, Rise, Violation
from kdissect.rules.views.body_view import Body

# Time for the network and quotas beyond max_wait_ms.
_SLACK_NS = 1_000_000_000
_HAS_ERROR_CODE = 7  # the Fetch version that brought an error code for the whole answer (KIP-227)
_LEAST_CODE = -(1 << 15)  # an int16
_DIVERGING = ".responses.partitions.diverging_epoch"
_EARLY = (
    SoonerThanHalf(".max_wait_ms"),
    LessThanAsked("records", ".min_bytes"),
    InRequest(Not(Other((".session_id",), frozenset({0})))),
    InRequest(Not(Empty((".topics",)))),
    Not(Other((".throttle_time_ms", "error_code"), frozenset({0}))),
    Not(Above(("preferred_read_replica",), -1)),
    Not(Other((f"{_DIVERGING}.epoch", f"{_DIVERGING}.end_offset"), frozenset({-1}))),
)


class LateFetch(BodyRule):
    """A fetch should be answered within max_wait_ms.

    The broker waits for min_bytes at most that long. The rule allows a second of slack for the network and
    quotas.

    Example: max_wait_ms 500, answered after 3 s.

    What to do: look at the broker's load. Clients may time out.
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
        """Yield the latency against the request's wait, without a throttle."""
        asked, latency = body.other(), body.exchange.latency_ns
        if asked is None or latency is None or sent(body.value, "throttle_time_ms"):
            return
        if latency > asked.max_wait_ms * 1_000_000 + _SLACK_NS:
            yield Violation(
                f"an answer within {asked.max_wait_ms} ms", f"{latency / 1e6:.0f} ms", side=RESPONSE
            )


class EarlyFetch(BodyRule):
    """A fetch that gets less than min_bytes should wait for max_wait_ms.

    Clients that ask again at once make such a broker busy for nothing: often enough, that is a warning. An
    error, a preferred replica, a diverging epoch, a session being closed or partitions of an incremental
    session are reasons to answer at once. So is an answer without any partition up to v6, which has no other
    way to report an error for all partitions.

    Example: min_bytes 1, max_wait_ms 500, an empty answer after 1 ms.

    What to do: hold the request until there is data or the time is over.
    """

    code = "FET008"
    name = "early-fetch"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    severity = Severity.INFO
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/000 Fetch API",)
    on = (("Fetch", RESPONSE),)
    once = Once.PARTY
    # Apache Kafka returns none in the captures here. A broker that does not wait returned 4,428 in half a
    # second.
    rises = Rise(100, 10)
    guard = (
        All((*_EARLY, Longer((".responses.partitions",), 0))),
        All((*_EARLY, Above((".error_code",), _LEAST_CODE - 1))),  # the version has the field
    )
    exact = True

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield bytes and latency of a full, sessionless fetch."""
        # Hot where a broker does not wait: once for each poll.
        asked, latency = body.other(), body.exchange.latency_ns
        if asked is None or latency is None or not asked.topics or sent(asked, "session_id"):
            return
        # 0 or less: the clock is too coarse, or was set back
        if not 0 < latency < asked.max_wait_ms * 500_000 or sent(body.value, "throttle_time_ms"):
            return
        held = _held(body.value.responses)
        if held is None or held >= asked.min_bytes or body.exchange.response_summary().errors:
            return
        if body.version < _HAS_ERROR_CODE and not any(topic.partitions for topic in body.value.responses):
            return  # these versions report an error of the whole request in this form
        seen = f"{plural(held, 'byte')} after {latency / 1e6:.1f} ms"
        yield Violation(f"{plural(asked.min_bytes, 'byte')} or {asked.max_wait_ms} ms", seen, side=RESPONSE)


def _held(topics: Sequence[Any]) -> int | None:
    """Return the bytes of all partitions. None: one of them is a reason to answer at once."""
    held = 0
    for topic in topics:
        for partition in topic.partitions:
            is_moved = sent(partition, "preferred_read_replica", -1) >= 0
            if is_moved or sent(partition, "diverging_epoch") is not None:
                return None
            held += len(partition.records or b"")
    return held
