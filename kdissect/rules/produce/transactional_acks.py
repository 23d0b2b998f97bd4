"""PRD003: A transactional Produce must ask for acks -1."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.body import Body
from kdissect.rules.rule import (
    REQUEST,
    BodyRule,
    Fault,
)


class TransactionalAcks(BodyRule):
    """A transactional Produce must ask for acks -1.

    Without all in-sync replicas a transaction may lose what it committed. Brokers do not refuse it.

    Example: a transactional id and acks 1.

    What to do: send acks -1.
    """

    code = "PRD003"
    name = "transactional-acks"
    who = Who.CLIENT
    cites = ("KIP-98", "KIP-679")
    on = (("Produce", REQUEST),)

    def check(self, body: Body) -> Iterator[Fault]:
        """acks beside a transactional id."""
        if getattr(body.value, "transactional_id", None) and body.value.acks != -1:
            yield body.fault("acks", "-1 in a transaction", str(body.value.acks))
