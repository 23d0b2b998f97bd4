"""`topic-created-by-accident`: asking for a topic made it."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.stats.client import Client

_LENGTH = 5  # names: shorter ones are equal by chance


class TopicCreatedByAccident(Cause):
    """A topic that did not exist until a client asked for it, and is named nearly as another one."""

    id = "topic-created-by-accident"
    title = "A topic was created by asking for it"
    severity = Severity.WASTES
    help = (
        "If it is a misspelled name, delete it. auto.create.topics.enable=false on brokers, or"
        " allow.auto.create.topics=false"
        " in consumers, has topics made on purpose only, with the partitions and replicas they need."
    )
    cites = (
        "KIP-361 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#ALLOW_AUTO_CREATE_TOPICS_CONFIG",
    )

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each topic."""
        used = {
            row["topic"]: row for row in seen.topics if row["written"]["requests"] or row["read"]["requests"]
        }
        made = seen.gathering.log.created
        found: dict[str, Seen] = {}
        clients: dict[str, list[Client]] = {}
        for (scope, client, topic), packets in seen.gathering.log.may_create.items():
            if topic in used and (scope, topic) not in made and _near(topic, list(used)):
                found.setdefault(topic, Seen()).add(packets)
                clients.setdefault(topic, []).append(client)
        for topic, at in found.items():
            first = clients[topic][0]
            other = _near(topic, list(used))
            yield self.found(
                f"Topic '{topic}' did not exist; {client_text(first)} asked for its metadata in a way that"
                f" creates it. Nearly the same name is in use: '{other}'.",
                client_text(first),
                parties_of(clients[topic]) | {Party("topic", topic)},
                at,
                Cost(),
                f"topics {{files}} --topic '{topic}'",
                "somebody may have made it on purpose where the capture does not show it",
            )


def _near(topic: str, others: list[str | None]) -> str | None:
    """Another topic in use whose name differs by a slip of the fingers, and not in its digits."""
    for other in others:
        if other is None or len(topic) < _LENGTH:
            continue
        if _is_swapped(topic, other) or (abs(len(other) - len(topic)) == 1 and _without_one(topic, other)):
            return other
    return None


def _is_swapped(one: str, other: str) -> bool:
    """Return whether two letters that stand together changed places."""
    if len(one) != len(other):
        return False
    at = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    if len(at) != 2 or at[1] != at[0] + 1:
        return False
    return one[at[0]] == other[at[1]] and one[at[1]] == other[at[0]] and one[at[0] : at[1] + 1].isalpha()


def _without_one(one: str, other: str) -> bool:
    """Return whether the longer one is the other with one letter more, which is no digit or mark."""
    shorter, longer = sorted((one, other), key=len)
    return any(
        longer[at].isalpha() and longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )
