"""FET018: a fetch that failed as a whole should bring no data."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import Other
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class ErrorWithData(BodyRule):
    """A fetch that failed as a whole should bring no data.

    An error code for the whole answer (v7 and later) says that nothing was read: clients drop what stands
    beside it, and end their session. Partitions that have the error too are what brokers of v12 and before
    write.

    Example: FETCH_SESSION_ID_NOT_FOUND, and a partition without an error.

    What to do: leave partitions out, or the error.
    """

    code = "FET018"
    name = "error-with-data"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.BROKER
    cites = (
        "KIP-227 Public Interfaces",
        "org.apache.kafka.common.requests.FetchRequest#getErrorResponse",
    )
    on = (("Fetch", RESPONSE),)
    versions = Versions(7, NO_UPPER_BOUND)
    guard = (Other((".error_code",), frozenset({0})),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Partitions beside the error."""
        if not body.value.error_code:
            return
        for _, row, at in body.partitions("responses"):
            if row.records or not row.error_code:
                what = f"{plural(len(row.records or b''), 'byte')} of records, error code {row.error_code}"
                yield body.violation(at, "no partition", what)
                return  # the others have the same cause
