"""Rules: a response speaks of what its request asked for, of each once."""

from collections.abc import Collection, Iterator

from kdissect.model.finding import Severity, Who
from kdissect.rules.answer_comparison import Key, held, repeated, shown, text_of
from kdissect.rules.answer_keys import ANSWERS
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, RESPONSE, Violation
from kdissect.rules.views.body_view import Body

_BY_PARTITION = tuple(
    (name, RESPONSE) for name, answer in ANSWERS.items() if answer.is_of_partitions and name != "Fetch"
)
_BY_ENTRY = tuple(
    (name, RESPONSE) for name, answer in ANSWERS.items() if answer.asked and not answer.is_of_partitions
)


class OtherPartitions(BodyRule):
    """A response must contain each partition of its request once.

    Clients look the result of each partition up. One that is missing is retried or lost, one too many is an
    error to some, and of two for one partition either may count. For the lists, and for entries that
    Apache Kafka leaves out, see docs/rules/answers.md. Fetch has FET004.

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
        """Yield missing, unrequested and repeated partitions."""
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


class OtherCount(BodyRule):
    """A batch must be answered with one result for each entry, and no other.

    Entries are topics, groups, members, transactions, resources or keys of coordinators. Clients look up
    the result for each entry. For matching entries, and for entries that Apache Kafka leaves out, see
    docs/rules/answers.md.

    Example: DescribeGroups for two groups, answered with one of them, or with a different group.

    What to do: answer each entry once, with an error code if need be.
    """

    code = "PAI009"
    name = "other-count"
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = (
        "org.apache.kafka.coordinator.group.GroupCoordinatorService#describeGroups",
        "spec/000 Metadata API",
        "spec/000 Common Request and Response Structure",
    )
    on = _BY_ENTRY
    guard = (Fact.OTHER_RESULTS,)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the number of results, or, if it is right, whether they belong to the entries."""
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


class EntryTwice(BodyRule):
    """A list of a response must not have an entry twice.

    These are lists that requests do not name entry by entry: brokers, members, partitions of topics,
    assignments and Fetches. Clients put them into maps, so that one of the two is lost, or read records
    twice. docs/rules/answers.md names the lists and the keys of their entries.

    Example: Metadata with broker 1 at two addresses.

    What to do: write each entry once.
    """

    code = "PAI011"
    name = "entry-twice"
    who = Who.BROKER
    cites = (
        "org.apache.kafka.common.requests.MetadataResponse#brokersById",
        "org.apache.kafka.common.requests.FetchResponse#responseData",
    )
    on = tuple((name, RESPONSE) for name, answer in ANSWERS.items() if answer.once)
    guard = (Fact.TWICE,)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield entries that have the key of one before."""
        for entry in repeated(body):
            yield body.violation(entry.path, "each once", f"'{text_of(entry.key)}' again")
