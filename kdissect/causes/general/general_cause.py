"""Common base of general causes: symptoms of one kind that no other cause claims, in groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from typing import ClassVar

from kdissect.causes.cause import Cause, clients_text, joined, quoted
from kdissect.causes.evidence.evidence import Evidence
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, Symptom, SymptomKind
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.stats.client import Client

_MESSAGES_SHOWN = 2


class Together:
    """Symptoms that make one cause."""

    def __init__(self, symptoms: list[Symptom]) -> None:
        self.first = symptoms[0]
        self.symptoms = symptoms
        self.seen = Seen()
        for one in symptoms:
            self.seen.merge(one.seen)

    @property
    def clients(self) -> list[Client]:
        """The clients with the trouble."""
        return list(dict.fromkeys(one.client for one in self.symptoms))

    @property
    def who(self) -> str:
        """The same in words."""
        return clients_text(self.clients)

    @property
    def brokers(self) -> str:
        """The brokers that respond, or should."""
        return joined(list(dict.fromkeys(one.broker for one in self.symptoms)))

    @property
    def messages(self) -> str:
        """Messages of brokers, in quotes, or an empty text."""
        said = list(dict.fromkeys(one.message for one in self.symptoms if one.message))
        return joined([f'"{message}"' for message in said], _MESSAGES_SHOWN)

    @property
    def parties(self) -> frozenset[Party]:
        """Everybody that is concerned."""
        return frozenset().union(*(one.parties for one in self.symptoms))

    @property
    def total(self) -> int:
        """The requests of that API that these clients sent, if known."""
        return max(self.seen.times, sum({one.client: one.total for one in self.symptoms}.values()))

    @property
    def total_left(self) -> int:
        """Of bytes that cannot be read: on how many connections the other end left."""
        return sum(one.total for one in self.symptoms)

    @property
    def goes_on(self) -> bool:
        """Whether these clients still worked afterwards."""
        return all(one.goes_on for one in self.symptoms)

    @property
    def subjects(self) -> str:
        """Subjects of the requests: `topic 'a' and group 'b'`. Empty if the requests do not name one."""
        named = (("topic", "topic"), ("group", "group"), ("transactional id", "txn"))
        return " and ".join(f"{noun} {quoted(found)}" for noun, what in named if (found := self.names(what)))

    def names(self, what: str) -> list[str]:
        """Return the topics, groups or transactional ids (`txn`) that they are about."""
        return list(dict.fromkeys(name for one in self.symptoms if (name := getattr(one, what))))


class GeneralCause(Cause):
    """Symptoms of one kind.

    General causes are last in the registry: more specific causes have claimed before them.
    """

    kind: ClassVar[SymptomKind]
    may_be_missing_packets = False

    def own_claims(self) -> tuple[Claim, ...]:
        """Return all of its kind."""
        return (Claim(self.kind),)

    def alike(self, symptom: Symptom) -> Hashable:
        """Return the key that makes two symptoms one cause."""
        return symptom.client

    @abstractmethod
    def sentence(self, found: Together) -> str:
        """Return the event, for people."""

    def weight(self, found: Together) -> Severity:
        """Return its effect on the parties."""
        return self.severity

    def not_surer(self, found: Together) -> str:
        """Return why it is not sure, or an empty text."""
        return ""

    @abstractmethod
    def command(self, found: Together) -> str:
        """Return the command that shows more."""

    def cost(self, found: Together) -> Cost:
        """Return the cost."""
        return Cost(time_ns=found.seen.time_ns, errors=found.seen.times)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each group of symptoms that is left in the ledger."""
        groups: dict[Hashable, list[Symptom]] = {}
        for symptom in seen.ledger.open(self.kind):
            groups.setdefault((symptom.scope, self.alike(symptom)), []).append(symptom)
        for symptoms in groups.values():
            found = Together(symptoms)
            cause = self.found(
                self.sentence(found),
                found.who,
                found.parties,
                found.seen,
                self.cost(found),
                self.command(found),
                self.not_surer(found),
            )
            yield cause._replace(severity=self.weight(found))
