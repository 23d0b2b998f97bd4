"""FET004: A full fetch must be answered with the partitions it asked for."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.answer_comparison import held, shown
from kdissect.rules.guards import Above, All, Fact, InRequest, Not
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class UnrequestedPartition(BodyRule):
    """A full fetch must be answered with the partitions it asked for, all of them and no other.

    Incremental fetches answer for the whole session, with what is new, and are left out. So are errors of
    the whole answer, and what Apache Kafka does not answer (docs/rules/answers.md).

    Example: partition 0 asked for, partition 1 answered.

    What to do: return the requested partitions.
    """

    code = "FET004"
    name = "unrequested-partition"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "org.apache.kafka.clients.FetchSessionHandler#verifyFullFetchResponsePartitions",
        "spec/003 Fetch API",
    )
    on = (("Fetch", RESPONSE),)
    overrides = ("FET014", "FET008")
    guard = (All((Fact.OTHER_RESULTS, InRequest(Not(Above((".session_epoch",), 0))))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield response partitions that a full fetch did not name, and partitions that it named in vain."""
        found = held(body)
        if found is None:
            return
        for entry in found.unasked:
            topic, partition = shown([entry.key[:1]]), entry.key[1:]
            yield body.violation(
                f"{entry.path}.partition_index", "a partition of the request",
                f"{topic} partition {shown([partition])}",
            )  # fmt: skip
        if found.missing and not found.unasked:
            yield body.violation(
                found.field, f"{len(found.missing)} more: {shown(found.missing)}", "no answer for them"
            )
