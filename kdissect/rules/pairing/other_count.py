"""PAI009: A batch must be answered with one result for each entry."""

from collections.abc import Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.answer_keys import ANSWERS
from kdissect.rules.answers import held, shown, text_of
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_BY_ENTRY = tuple(
    (name, RESPONSE) for name, answer in ANSWERS.items() if answer.asked and not answer.is_of_partitions
)


class OtherCount(BodyRule):
    """A batch must be answered with one result for each entry, and no other.

    Entries are topics, groups, members, transactions, resources or keys of coordinators; clients look the
    result of each of them up. What belongs to what, and where Apache Kafka leaves some out, stands in
    docs/rules/answers.md.

    Example: DescribeGroups for two groups, one described; or for one group, and another described.

    What to do: answer each entry once, with an error code if need be.
    """

    code = "PAI009"
    name = "other-count"
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#describeGroups",
        "spec/000 Common Request and Response Structure",
    )
    on = _BY_ENTRY
    guard = (Fact.OTHER_RESULTS,)

    def check(self, body: Body) -> Iterator[Violation]:
        """How many results there are; where as many as entries, whether they are those."""
        found = held(body)
        if found is None:
            return
        if found.answered not in (found.asked, found.distinct):
            yield body.violation(found.field, f"{found.asked} results", f"{found.answered} results")
        elif found.missing:
            others = {entry.key for entry in (*found.unasked, *found.twice)}
            yield body.violation(
                found.field, f"a result for '{shown(found.missing)}'", f"one for '{shown(others)}'"
            )
        else:
            for entry in found.unasked:
                yield body.violation(entry.path, "an entry of the request", f"'{text_of(entry.key)}'")
            for entry in found.twice:
                yield body.violation(entry.path, "each entry once", f"'{text_of(entry.key)}' again")
