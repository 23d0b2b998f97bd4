"""TXN002: A transactional id must not be empty."""

from collections.abc import Iterator

from kdissect.model.finding import Claim, Who
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body


class EmptyTransactionalId(BodyRule):
    """A transactional id must not be empty.

    Null says "no transactions"; the empty string is refused with INVALID_REQUEST.

    Example: InitProducerId with transactional_id "".

    What to do: send null, or a name.
    """

    code = "TXN002"
    name = "empty-transactional-id"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("kafka.coordinator.transaction.TransactionCoordinator#handleInitProducerId",)
    on = (("InitProducerId", REQUEST),)

    def check(self, body: Body) -> Iterator[Violation]:
        """The field."""
        if body.value.transactional_id == "":
            yield body.violation("transactional_id", "null or a name", "an empty string")
