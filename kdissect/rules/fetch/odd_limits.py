"""FET003: the limits of a fetch should make sense."""

from collections.abc import Iterator

from kdissect.model.finding import Level, Who
from kdissect.rules.guards import Below, Exceeds
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


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
        """Limits of the request and of each partition."""
        least, most = body.value.min_bytes, getattr(body.value, "max_bytes", None)
        if least < 0:
            yield body.violation("min_bytes", "0 or more", str(least))
        if most is not None and (most <= 0 or least > most):
            yield body.violation("max_bytes", f"more than 0 and at least min_bytes {least}", str(most))
        for _, partition, at in body.partitions("topics"):
            if partition.partition_max_bytes < 0:
                path = f"{at}.partition_max_bytes"
                yield body.violation(path, "0 or more", str(partition.partition_max_bytes))
