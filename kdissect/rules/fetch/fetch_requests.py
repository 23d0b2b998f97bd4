"""Rules: what a Fetch request asks for."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Above, All, Among, Below, Exceeds, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class IncrementWithoutSession(BodyRule):
    """An incremental fetch must name a session.

    Epochs above 0 continue a session. Session id 0 means there is none. Brokers answer
    FETCH_SESSION_ID_NOT_FOUND or INVALID_FETCH_SESSION_EPOCH.

    Example: session_id 0 and session_epoch 3.

    What to do: begin with session 0 and epoch 0, then use the id of the answer.
    """

    code = "FET001"
    name = "increment-without-session"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("KIP-227 FetchRequest Metadata meaning", "org.apache.kafka.server.FetchManager#newContext")
    on = (("Fetch", REQUEST),)
    versions = Versions(7, NO_UPPER_BOUND)
    guard = (All((Among((".session_id",), frozenset({0})), Above((".session_epoch",), 0))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the id and epoch."""
        if body.value.session_id == 0 and body.value.session_epoch > 0:
            yield body.violation("session_epoch", "0 or -1 with session id 0", str(body.value.session_epoch))


class ForgottenInFullFetch(BodyRule):
    """A full fetch should not forget topics.

    With epoch 0 or -1 there is no session to take partitions from. Brokers ignore the list.

    Example: session_epoch 0 and a forgotten topic.

    What to do: send forgotten topics in incremental fetches only.
    """

    code = "FET002"
    name = "forgotten-in-full-fetch"
    level = Level.SHOULD
    who = Who.CLIENT
    cites = ("KIP-227 FetchRequest Metadata meaning", "org.apache.kafka.server.FetchManager#newContext")
    on = (("Fetch", REQUEST),)
    versions = Versions(7, NO_UPPER_BOUND)
    guard = (All((Longer((".forgotten_topics_data",), 0), Below((".session_epoch",), 1))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the list next to the epoch."""
        if body.value.session_epoch <= 0 and body.value.forgotten_topics_data:
            yield body.violation(
                "forgotten_topics_data",
                "none in a full fetch",
                plural(len(body.value.forgotten_topics_data), "topic"),
            )


class OddLimits(BodyRule):
    """The limits of a fetch should make sense.

    Bytes wanted must not be negative, bytes allowed must be more than 0 and no less than those wanted. The
    limit of a partition may be 0: controllers fetch their log so.

    Example: min_bytes 1000 and max_bytes 100.

    What to do: check `fetch.min.bytes`, `fetch.max.bytes` and `max.partition.fetch.bytes`.
    """

    code = "FET003"
    name = "odd-fetch-limits"
    level = Level.SHOULD
    who = Who.CLIENT
    cites = ("spec/000 Fetch API", "KIP-74 Proposed Changes")
    on = (("Fetch", REQUEST),)
    guard = (
        Below((".min_bytes", "partition_max_bytes"), 0),
        Below((".max_bytes",), 1),
        Exceeds(".min_bytes", ".max_bytes"),
    )

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield limits for the request and for each partition."""
        least, most = body.value.min_bytes, getattr(body.value, "max_bytes", None)
        if least < 0:
            yield body.violation("min_bytes", "0 or more", str(least))
        if most is not None and (most <= 0 or least > most):
            yield body.violation("max_bytes", f"more than 0 and at least min_bytes {least}", str(most))
        for _, partition, at in body.partitions("topics"):
            if partition.partition_max_bytes < 0:
                path = f"{at}.partition_max_bytes"
                yield body.violation(path, "0 or more", str(partition.partition_max_bytes))
