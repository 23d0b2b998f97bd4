"""PRD011: InitProducerId must give an id and an epoch, or an error."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.guards import All, Among, Below
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class NoProducerId(BodyRule):
    """InitProducerId must give an id and an epoch, or an error.

    -1 says that a batch has no producer: a client that takes it for an id writes without idempotence, or
    fails.

    Example: no error, and producer_id -1.

    What to do: give an id from 0 on, or the error.
    """

    code = "PRD011"
    name = "no-producer-id"
    who = Who.BROKER
    cites = ("KIP-98 Public Interfaces", "spec/003 InitProducerId API")
    on = (("InitProducerId", RESPONSE),)
    guard = (All((Among((".error_code",), frozenset({0})), Below((".producer_id", ".producer_epoch"), 0))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Both numbers, where there is no error."""
        answer = body.value
        for field in ("producer_id", "producer_epoch") if not answer.error_code else ():
            if getattr(answer, field) < 0:
                yield body.violation(field, "0 or more", str(getattr(answer, field)))
                return
