"""FET001: an incremental fetch must name a session."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.guards import Above, All, Among
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


class IncrementWithoutSession(BodyRule):
    """An incremental fetch must name a session.

    Epochs above 0 continue a session; session id 0 means there is none. Brokers answer
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
        """Id and epoch."""
        if body.value.session_id == 0 and body.value.session_epoch > 0:
            yield body.violation("session_epoch", "0 or -1 with session id 0", str(body.value.session_epoch))
