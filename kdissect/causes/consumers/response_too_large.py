"""`response-too-large`: a client ends its connection at large responses, each time.

It does so within the response. On a fast network the whole response may come before the client has ended the
connection: then it fetches the same records again on its next connection.
"""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, joined, times
from kdissect.causes.evidence.broken_off_responses import BrokenOff, BrokenOffKey, Refused, SameRecords
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Party, Severity
from kdissect.report.quantities import byte_count
from kdissect.session.exchange import State
from kdissect.stats.traffic import PREFIX_BYTES

_AGAIN = 3  # fewer may be a client that is stopped and started again
_RESETS = 2  # once may be a client that is killed
_LEAST_BYTES = 1_000  # the smallest limit that librdkafka takes (receive.message.max.bytes)


class ResponseTooLarge(Cause):
    """Responses that the client does not accept."""

    id = "response-too-large"
    title = "A client refuses large responses"
    severity = Severity.STOPS
    help = (
        "Raise the largest response that the client accepts (librdkafka: receive.message.max.bytes, sarama:"
        " MaxResponseSize) above fetch.max.bytes plus one batch, or lower fetch.max.bytes and"
        " max.partition.fetch.bytes. The client's log names its limit."
    )
    cites = (
        "KIP-74 Motivation",
        "org.apache.kafka.clients.consumer.ConsumerConfig#FETCH_MAX_BYTES_CONFIG",
    )
    explains = ("connection-churn", "offset-not-passed", "stuck-consumer")

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client, broker and API."""
        broken_off = seen.gathering.broken_off
        whole = _refused(seen)
        for key in dict.fromkeys((*(of for of, _ in broken_off.found.items()), *whole)):
            client, broker, _ = key
            cut, same = broken_off.found.peek(key), whole.get(key, [])
            at = Seen()
            if cut is not None:
                at.merge(cut.seen)
            for _, found in same:
                at.merge(found.seen)
            size = _size(same) or (0 if cut is None else cut.size)
            starts = seen.gathering.links.starts_of(client.client_id or "", client.address, broker)
            is_back = any(start > at.first_ns for start in starts)
            if at.times < _AGAIN or size < _LEAST_BYTES or not is_back:
                continue
            if _accepted(seen, key, None if same else cut) >= size:
                continue
            yield self.found(
                f"{client_text(client)} ended its connection to {broker} {times(at.times)}"
                f" {_at(key, cut, same)}",
                client_text(client),
                parties_of([client])
                | {Party("broker", broker), *(Party("topic", each.topic) for each, _ in same)},
                at,
                Cost(retries=at.times),
                "connections {files}",
                "a client that ends for another reason at a response looks the same",
            )


def _refused(seen: Evidence) -> dict[BrokenOffKey, list[tuple[SameRecords, Refused]]]:
    """Whole responses that made a client reset its connection, several times for the same records.

    A client that closes with a response unread resets (RFC 9293 section 3.6.1).
    """
    found: dict[BrokenOffKey, list[tuple[SameRecords, Refused]]] = {}
    for key, one in seen.gathering.broken_off.refused.items():
        if one.resets >= _RESETS:
            found.setdefault(BrokenOffKey(key.client, key.broker, "Fetch"), []).append((key, one))
    return found


def _at(key: BrokenOffKey, cut: BrokenOff | None, same: list[tuple[SameRecords, Refused]]) -> str:
    """At which response, in words."""
    if not same:
        assert cut is not None  # there is one of the two
        return (
            f"within a response to {key.api}: after {byte_count(cut.sent)} from a response of"
            f" {byte_count(cut.size)}. It connects again, and does not accept any of these responses."
        )
    places = joined(
        [f"topic '{of.topic}', partition {of.partition} from offset {of.offset:,}" for of, _ in same]
    )
    after = sum(found.seen.times for _, found in same)
    return (
        f"at a response to {key.api}: {times(after)} at once after the whole response, with the same records"
        f" ({places}: {byte_count(_size(same))})"
        + ("" if cut is None else f", and {times(cut.seen.times)} within the response")
        + ". It connects again, and fetches these records again."
    )


def _size(same: list[tuple[SameRecords, Refused]]) -> int:
    return min((found.size for _, found in same), default=0)


def _accepted(seen: Evidence, key: BrokenOffKey, cut: BrokenOff | None) -> float:
    """Return the size that a whole response to the client has at least, in bytes: the largest mean of an API.

    0 for an API with other responses without their end, whose sizes are in the sum, too. Without `cut` the
    responses to the API itself count only if the client fetched again after them on the same connection.
    """
    client, broker, of = key
    means = [float(seen.gathering.broken_off.accepted.peek((client, broker)) or 0)]
    for (api, *who), tally in seen.background:
        if tuple(who) != (client.client_id or "", client.address, broker):
            continue
        times = size = 0
        if api == of:
            if cut is None:
                continue
            times, size = cut.seen.times, cut.sum
        whole = tally.states[State.COMPLETE]
        if whole and not tally.unsized and tally.states[State.INCOMPLETE] == times:
            means.append((tally.response_bytes - size) / whole - PREFIX_BYTES * (1 + times / whole))
    return max(means)
