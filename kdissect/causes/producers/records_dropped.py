"""`records-dropped`: a broker refuses records for a time, and their client does not send them again."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, joined
from kdissect.causes.evidence.dropped_batches import LEAST_NS, RETRIABLE, Dropped
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import errors
from kdissect.history.api_keys import PRODUCE
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.schema.error_codes import error_name
from kdissect.stats.client import Client


class RecordsDropped(Cause):
    """Refused batches whose records are in no later request of the client."""

    id = "records-dropped"
    title = "A client does not send refused records again"
    severity = Severity.DATA
    help = (
        "Set retries of the producer above 0 (kafka-python before 2.1 does not try again by default), and"
        " delivery.timeout.ms above the time that an election takes. The application has to handle the error"
        " that send() reports, or the records are lost."
    )
    cites = (
        "org.apache.kafka.clients.producer.ProducerConfig#RETRIES_CONFIG",
        "org.apache.kafka.clients.producer.ProducerConfig#DELIVERY_TIMEOUT_MS_CONFIG",
        "org.apache.kafka.common.errors.RetriableException",
    )
    claims = (errors(RETRIABLE, {PRODUCE}),)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client."""
        are_all_seen = seen.gathering.topics.leaders.are_all_seen()
        found: dict[tuple[str, Client], list[Dropped]] = {}
        for one in seen.gathering.log.dropped.found(seen.last_ns):
            # The broker with the new leader may not be captured.
            if one.goes_on or (are_all_seen and _has_left(seen, one)):
                found.setdefault((one.scope, one.client), []).append(one)
        for (scope, client), batches in found.items():
            at = Seen()
            for one in batches:
                at.add(one.packets)
            records = sum(one.records for one in batches)
            topics = dict.fromkeys(one.topic for one in batches)
            codes = dict.fromkeys(error_name(one.error) for one in batches)
            compared = min(one.requests for one in batches)
            parties = {Party("topic", name) for name in topics} | {
                Party("broker", one.broker) for one in batches
            }
            cluster = seen.gathering.log.cluster(scope)
            yield self.found(
                f"{_refused(records)} of {client_text(client)} with {joined(list(codes))}"
                f" ({joined(_places(batches))}), and {_compared(compared, len(batches))} has"
                f" {'it' if records == 1 else 'them'}.",
                client_text(client),
                parties_of([client]) | parties | ({Party("cluster", cluster)} if cluster else set()),
                at,
                Cost(errors=len(batches), records=records),
                "inspect {files} -Y 'api == Produce and errors'",
                ""
                if all(one.goes_on for one in batches)
                else "the client left: another process may have sent the records",
            )


def _has_left(seen: Evidence, one: Dropped) -> bool:
    """Return whether a client ended its connections, and did not come back."""
    key = one.client.client_id, one.client.address
    links = [link for of, link in seen.gathering.links.items() if (of.client_id, of.host) == key]
    is_over = all(
        link.last_ns + LEAST_NS <= seen.last_ns and not 0 < one.until_ns < link.last_ns for link in links
    )
    return is_over and all(link.open_at(seen.last_ns) <= 0 for link in links)


def _refused(records: int) -> str:
    return f"Brokers refused {plural(records, 'record', spec=',')}"


def _places(batches: list[Dropped]) -> list[str]:
    """Return each partition with the number of its records."""
    records: dict[str, int] = {}
    for one in batches:
        place = f"{one.topic}-{one.partition}"
        records[place] = records.get(place, 0) + one.records
    return [f"{plural(count, 'record', spec=',')} for {place}" for place, count in records.items()]


def _compared(requests: int, batches: int) -> str:
    if batches > 1:
        return f"none of the next Produce requests of the client (at least {requests:,} after each refusal)"
    return f"none of the next {plural(requests, 'Produce request', spec=',')} of the client"
