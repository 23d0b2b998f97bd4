"""PAI011: A list of a response must not have an entry twice."""

from collections.abc import Iterator

from kdissect.model.finding import Who
from kdissect.rules.answer_keys import ANSWERS
from kdissect.rules.answers import repeated, text_of
from kdissect.rules.guards import Fact
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class EntryTwice(BodyRule):
    """A list of a response must not have an entry twice.

    These are lists that nobody asked for entry by entry: brokers, members, the partitions of a topic or of an
    assignment, those of a Fetch. Clients put them into maps, so that one of the two is lost, or read records
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
        """Entries that have the key of one before."""
        for entry in repeated(body):
            yield body.violation(entry.path, "each once", f"'{text_of(entry.key)}' again")
