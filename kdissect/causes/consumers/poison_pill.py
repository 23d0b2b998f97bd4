"""`poison-pill`: a key or value does not fit its schema, and consumers that need it stop there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kdissect.causes.cause import Cause, clients_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.schema.protocol_messages import api_name
from kdissect.stats.client import Client

if TYPE_CHECKING:
    from kdissect.engine.records.poison_pills import PoisonPill, Sender
    from kdissect.engine.records.value_faults import ValuePlace

_Key = tuple[str | None, str, str, tuple[Client, ...]]


class PoisonPillCause(Cause):
    """Keys and values that the schema of their topic cannot decode, with their writers and readers.

    It needs `--schemas`. A reader stops that receives one more than once and never fetches from a later
    offset.
    """

    id = "poison-pill"
    title = "A record does not fit its schema"
    severity = Severity.DATA
    help = (
        "Correct the producer. Have consumers put records aside that they cannot decode (a dead letter topic,"
        " errors.tolerance of Kafka Connect, the deserialization exception handler of Kafka Streams). To skip"
        " the record, set the group's offset after it (kafka-consumer-groups.sh --reset-offsets)."
    )
    cites = ("KIP-334 Motivation",)
    explains = ("offset-not-passed", "stuck-consumer")
    explains_by = frozenset({"client"})
    may_be_missing_packets = False

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield the keys or values of each topic and schema, by their writers."""
        values = seen.gathering.values
        found: dict[_Key, list[PoisonPill]] = {}
        for pill in () if values is None else values.proven():
            if not pill.is_wanted:
                continue
            key = pill.topic, pill.part, pill.schema, tuple(_clients(pill.writers.values()))
            found.setdefault(key, []).append(pill)
        for pills in found.values():
            yield self._found(pills)

    def _found(self, pills: list[PoisonPill]) -> FoundCause:
        first, topic = pills[0], pills[0].topic or "a topic"
        writers = _clients(first.writers.values())
        receipts = _receipts(pills)
        readers = _clients(reader for pill in pills for reader in pill.readers.values())
        went_on = [reader for reader in readers if reader not in receipts]
        at = Seen()
        for pill in pills:
            at.add(_packets(pill.place))
        parts = [f"The {first.part} of {first.at} does not fit {first.schema}: {first.error}."]
        if writers:
            parts.append(f"{clients_text(writers)} wrote it.")
        if receipts:
            parts.append(
                f"{clients_text(list(receipts))} received it, and never fetched from a later offset."
            )
        if went_on:
            parts.append(f"{clients_text(went_on)} received it.")
        if len(pills) > 1:
            parts.append(f"{plural(len(pills) - 1, 'more record')} of '{topic}' did not fit.")
        cause = self.found(
            " ".join(part[:1].upper() + part[1:] for part in parts),
            f"readers of topic '{topic}'",
            parties_of([*writers, *readers]) | {Party("topic", topic)},
            at,
            Cost(records=len(pills)),
            f"records {{files}} --topic '{topic}' -e partition,offset,client_id,value_schema_id",
        )
        return cause._replace(severity=Severity.STOPS) if max(receipts.values(), default=0) > 1 else cause


def _receipts(pills: list[PoisonPill]) -> Counter[Client]:
    """Return the readers that did not go on, and how often they received the same pill."""
    found = Counter[Client]()
    for pill in pills:
        times = Counter[Client]()
        for reader in pill.stopped:
            times[_client(reader)] += reader.times
        found |= times
    return found


def _client(sender: Sender) -> Client:
    return Client(sender.principal, sender.client_id, None, sender.host)


def _clients(senders: Iterable[Sender]) -> list[Client]:
    return list(dict.fromkeys(map(_client, senders)))


def _packets(place: ValuePlace) -> Packets:
    what = f"{api_name(place.api_key)} v{place.api_version}"
    return Packets(place.info.id, place.ordinal, what, place.time_ns, place.first_ref, place.last_ref)
