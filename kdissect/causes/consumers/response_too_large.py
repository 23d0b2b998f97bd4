"""`response-too-large`: a client ends its connection within large responses, each time."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, times
from kdissect.causes.evidence.broken_off_responses import BrokenOff
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.report.quantities import byte_count
from kdissect.session.exchange import State
from kdissect.stats.client import Client
from kdissect.stats.traffic import PREFIX_BYTES

_AGAIN = 3  # fewer may be a client that is stopped and started again
_LEAST_BYTES = 1_000  # the smallest limit that librdkafka takes (receive.message.max.bytes)


class ResponseTooLarge(Cause):
    """Responses of which the client does not want the end."""

    id = "response-too-large"
    title = "A client refuses large responses"
    severity = Severity.STOPS
    help = (
        "Raise the largest response that the client accepts (librdkafka: receive.message.max.bytes; sarama:"
        " MaxResponseSize) above fetch.max.bytes plus one batch, or lower fetch.max.bytes and"
        " max.partition.fetch.bytes. The client's log names its limit."
    )
    cites = (
        "KIP-74 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_BYTES_CONFIG",
    )
    explains = ("connection-churn", "offset-not-passed")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Each client, broker and API."""
        for (client, broker, api), found in seen.gathering.broken_off.found.items():
            starts = [
                start
                for key, link in seen.gathering.links.items()
                if (key.client_id, key.host, key.broker) == (client.client_id, client.address, broker)
                for start, _ in link.starts
            ]
            is_back = any(start > found.seen.first_ns for start in starts)
            if found.seen.times < _AGAIN or found.size < _LEAST_BYTES or not is_back:
                continue
            if _accepted(seen, client, broker, found, api) >= found.size:
                continue
            yield self.found(
                f"{client_text(client)} ended its connection to {broker} {times(found.seen.times)} within a"
                f" response to {api}: after {byte_count(found.sent)} of a response of"
                f" {byte_count(found.size)}. It connects again, and accepts none of these responses.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker)},
                found.seen,
                Cost(retries=found.seen.times),
                "connections {files}",
                "a client that ends for another reason within a response looks the same",
            )


def _accepted(seen: Evidence, client: Client, broker: str, found: BrokenOff, api: str) -> float:
    """The size that a whole response to the client has at least, in bytes: the largest mean of an API.

    0 for an API with other responses without their end, whose sizes are in the sum, too.
    """
    means = [0.0]
    for key, tally in seen.tallies:
        if key[1:] != (client.client_id or "", client.address, broker):
            continue
        times, size = (found.seen.times, found.sum) if key[0] == api else (0, 0)
        whole = tally.states[State.COMPLETE]
        if whole and tally.states[State.INCOMPLETE] == times:
            means.append((tally.response_bytes - size) / whole - PREFIX_BYTES * (1 + times / whole))
    return max(means)
