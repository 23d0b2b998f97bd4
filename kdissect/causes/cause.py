"""Definition of a cause: an id, its effect on people, when it applies, its cost, the usual help."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import ClassVar

from kdissect.causes.evidence.evidence import Errors, Evidence
from kdissect.causes.evidence.exchange_log import ErrorKey
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim
from kdissect.causes.ledger.symptom import errors as errors_of
from kdissect.model.cause import Certainty, Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.stats.client import Client

SECOND_NS = 1_000_000_000
_NAMES_SHOWN = 3


class Cause(ABC):
    """One cause: a class without state.

    `explains` are ids of causes that follow from it: if they concern a common party, and begin no earlier,
    they are reported with it. `cites` are the sources of `help`.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[Severity] = Severity.DELAYS
    help: ClassVar[str]
    cites: ClassVar[tuple[str, ...]] = ()
    explains: ClassVar[tuple[str, ...]] = ()
    explains_by: ClassVar[frozenset[str]] = frozenset({"client", "group", "topic", "id"})
    """Which kinds of party a cause must have in common with what follows from it."""
    precedes: ClassVar[tuple[str, ...]] = ()
    """Ids of causes that do not follow from it, and that are listed after it for the same host and broker."""
    claims: ClassVar[tuple[Claim, ...]] = ()
    """The symptoms that it explains, including the symptoms of its effects (`explains`)."""
    is_served: ClassVar[bool] = False
    """True if the cause consists of successful responses to the clients that it concerns."""
    may_be_missing_packets: ClassVar[bool] = True
    """Whether packets that were not captured may look the same. False if an error code or a text says what
    is wrong.
    """

    @abstractmethod
    def find(self, seen: Evidence) -> Iterable[FoundCause]:
        """Return where it holds."""

    def own_claims(self) -> tuple[Claim, ...]:
        """Return the symptoms that it explains itself."""
        return self.claims

    def found(
        self,
        sentence: str,
        who: str,
        parties: Collection[Party],
        seen: Seen,
        cost: Cost,
        command: str,
        why_not_surer: str = "",
        certainty: Certainty | None = None,
        evidence: Iterable[Packets] | None = None,
    ) -> FoundCause:
        """Return the cause as found: `seen` is how often and when, with the packets.

        It is sure, unless `why_not_surer` is set.
        """
        default = Certainty.LIKELY if why_not_surer else Certainty.SURE
        return FoundCause(
            self.id,
            self.title,
            self.severity,
            sentence,
            who,
            frozenset(parties),
            seen.first_ns,
            seen.last_ns,
            seen.times,
            cost,
            certainty or default,
            why_not_surer,
            tuple(seen.evidence if evidence is None else evidence),
            command,
            self.help,
            self.cites,
        )


class ErrorCause(Cause):
    """A cause that brokers name: error codes in their answers, those together that `alike` says belong so.

    `least` of them make it one: what clients are refused once on their way is no cause.
    """

    may_be_missing_packets = False
    codes: ClassVar[frozenset[int]]
    apis: ClassVar[frozenset[int] | None] = None
    least: ClassVar[int] = 1

    def own_claims(self) -> tuple[Claim, ...]:
        """Return its error codes."""
        return (errors_of(self.codes, self.apis), *self.claims)

    def alike(self, key: ErrorKey) -> Hashable:
        """Return the key that makes two errors one cause."""
        return key.topic or key.group or key.txn

    def holds(self, errors: Errors, seen: Evidence) -> bool:
        """Return whether these errors are the cause."""
        return errors.seen.times >= self.least

    @abstractmethod
    def sentence(self, errors: Errors) -> str:
        """Return the event, for people."""

    def more(self, errors: Errors, seen: Evidence) -> str:
        """Return additions to the sentence from other parts of the capture, as separate sentences."""
        return ""

    def cost(self, errors: Errors) -> Cost:
        """Return the cost."""
        return Cost(errors=errors.seen.times)

    def not_surer(self, errors: Errors, seen: Evidence) -> str:
        """Return why it is not sure, or an empty text."""
        return ""

    def command(self, errors: Errors) -> str:
        """Return the command that shows more."""
        names = " or ".join(f"errors == {name}" for name in errors.times)
        return f"inspect {{files}} -Y '{names}'"

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each thing that errors are about."""
        for errors in seen.errors(self.codes, self.apis, self.alike):
            if self.holds(errors, seen):
                yield self.found(
                    " ".join(filter(None, (self.sentence(errors), self.more(errors, seen), _of(errors)))),
                    clients_text(errors.clients),
                    errors.parties,
                    errors.seen,
                    self.cost(errors),
                    self.command(errors),
                    self.not_surer(errors, seen),
                )


def _of(errors: Errors) -> str:
    return f"The cluster is {errors.cluster}." if errors.cluster else ""


def client_text(client: Client) -> str:
    """Return a client for people: `client 'orders' at 10.0.0.5`."""
    name = f"client '{client.client_id}'" if client.client_id else "a client without an id"
    user = f" (user {client.principal})" if client.principal else ""
    return f"{name}{user} at {client.address}" if client.address else f"{name}{user}"


def clients_text(clients: Collection[Client]) -> str:
    """Return the first clients, and the number of further ones."""
    shown = list(dict.fromkeys(map(client_text, clients)))
    return joined(shown, _NAMES_SHOWN) or "no client that the capture names"


def joined(names: Collection[str], most: int = _NAMES_SHOWN) -> str:
    """Return names as `a, b and 3 more`."""
    listed = list(names)
    if len(listed) <= most:
        return " and ".join(filter(None, (", ".join(listed[:-1]), *listed[-1:])))
    return f"{', '.join(listed[:most])} and {len(listed) - most} more"


def quoted(names: Collection[str]) -> str:
    """Return names in quotes: `'a', 'b' and 3 more`."""
    return joined([f"'{name}'" for name in names])


def times(count: int) -> str:
    """`once`, `12 times`."""
    return "once" if count == 1 else plural(count, "time")
