"""FET002: A full fetch should not forget topics."""

from collections.abc import Iterator

from kdissect.model.finding import Level, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import All, Below, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import REQUEST, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions


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
        """The list beside the epoch."""
        if body.value.session_epoch <= 0 and body.value.forgotten_topics_data:
            yield body.violation(
                "forgotten_topics_data",
                "none in a full fetch",
                plural(len(body.value.forgotten_topics_data), "topic"),
            )
