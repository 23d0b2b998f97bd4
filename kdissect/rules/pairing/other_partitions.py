"""PAI008: A response must speak of the partitions of its request."""

from collections.abc import Collection, Iterator

from kdissect.model.finding import Who
from kdissect.rules.answer_keys import ANSWERS
from kdissect.rules.answers import Key, held, shown, text_of
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_BY_PARTITION = tuple(
    (name, RESPONSE) for name, answer in ANSWERS.items() if answer.is_of_partitions and name != "Fetch"
)


class OtherPartitions(BodyRule):
    """A response must speak of the partitions of its request, of each once.

    Clients look the result of each partition up; one that is missing is retried or lost, one too many is an
    error to some, and of two for one partition either may count. Which lists hold them, and where Apache
    Kafka leaves some out, stands in docs/rules/answers.md. Fetch has FET004.

    Example: Produce for partition 0, answered for partition 1.

    What to do: answer each partition once, with an error code if need be.
    """

    code = "PAI008"
    name = "other-partitions"
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("kafka.server.KafkaApis#handleProduceRequest", "spec/000 Common Request and Response Structure")
    on = _BY_PARTITION
    guard = (Fact.OTHER_RESULTS,)

    def check(self, body: Body) -> Iterator[Violation]:
        """Partitions that are missing or were not asked for, and those that stand twice."""
        found = held(body)
        if found is None:
            return
        if found.missing or found.unasked:
            missing, unasked = found.missing, {entry.key for entry in found.unasked}
            yield body.violation(found.field, _text(missing, "missing"), _text(unasked, "not asked for"))
        for entry in found.twice:
            yield body.violation(entry.path, "each partition once", f"'{text_of(entry.key)}' again")


def _text(keys: Collection[Key], what: str) -> str:
    return f"{len(keys)} {what}: {shown(keys)}" if keys else f"none {what}"
