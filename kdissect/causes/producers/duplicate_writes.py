"""`duplicate-writes`: a producer gave up waiting and wrote the same again, and the broker could not know."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import Cause, client_text, joined, quoted, times
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.resends import Resend
from kdissect.causes.evidence.seen import Seen
from kdissect.causes.ledger.symptom import Claim, SymptomKind
from kdissect.engine.times import rfc3339
from kdissect.history.api_keys import PRODUCE
from kdissect.model.cause import Certainty, Cost, FoundCause, Party, Severity
from kdissect.model.wording import plural
from kdissect.stats.client import Client

_TIMES_SHOWN = 10
_MAYBE = "Records may have been written twice"


class DuplicateWrites(Cause):
    """Records that were sent twice, not as one batch that the broker would know again."""

    id = "duplicate-writes"
    title = "Records were written twice"
    severity = Severity.DATA
    help = (
        "Turn on enable.idempotence, so that the broker knows a batch again. Raise request.timeout.ms and"
        " delivery.timeout.ms above what the broker takes at its slowest."
    )
    cites = (
        "KIP-98 Motivation",
        "org.apache.kafka.clients.producer.ProducerConfig#ENABLE_IDEMPOTENCE_CONFIG",
        "org.apache.kafka.clients.producer.ProducerConfig#DELIVERY_TIMEOUT_MS_CONFIG",
    )
    claims = (Claim(SymptomKind.UNANSWERED, apis={PRODUCE}),)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client."""
        found: dict[Client, list[Resend]] = {}
        for one in seen.gathering.resends.retries:
            found.setdefault(one.client, []).append(one)
        unsafe = [
            one
            for one in seen.gathering.resends.unsafe
            if not seen.is_too_late(one) and seen.comes_back(one)  # a client that left does not try again
        ]
        for one in unsafe:
            if one.client not in found:
                yield self._unsafe(one, [more for more in unsafe if more.client == one.client])
                found[one.client] = []
        for client, retries in found.items():
            # Excluded retries count only if there are no other ones: then a law refutes the cause.
            resends = [one for one in retries if not seen.is_excluded(one)] or retries
            if not resends:
                continue
            at = Seen()
            for one in resends:
                at.add(one.again)
            at.evidence = [resends[0].first, *at.evidence[:2]]
            at.first_ns = min(at.first_ns, resends[0].first.time_ns)
            topics = list(dict.fromkeys(one.topic for one in resends))
            records = sum(one.records for one in resends)
            is_sure = all(one.is_written for one in resends)
            stand = "the broker took both" if is_sure else "they stand there twice if that was written"
            why = "under another producer id or sequence" if resends[0].has_id else "without idempotence"
            cause = self.found(
                f"{client_text(client)} sent the same records to {quoted(topics)} {times(len(resends))}"
                f" again {why}, because the first attempt was not answered in time: {stand}."
                + _excluded(seen, retries, resends),
                f"readers of {quoted(topics)}",
                parties_of([client]) | {Party("topic", name) for name in topics},
                at,
                Cost(retries=len(resends), records=records),
                "offsets {files} --table written_twice",
                "" if is_sure else "the answer to the first attempt was not captured, or never came",
            )
            yield cause if is_sure else cause._replace(title=_MAYBE)

    def _unsafe(self, one: Resend, given_up: list[Resend]) -> FoundCause:
        """Return unanswered batches that are sent again without a mark."""
        at = Seen()
        for each in given_up:
            at.add(each.first)
        topics = list(dict.fromkeys(each.topic for each in given_up))
        cause = self.found(
            f"{client_text(one.client)} gave up waiting {times(len(given_up))} for the answer to a batch for"
            f" {quoted(topics)} that has no producer id: if the broker wrote the batch, a retry writes"
            " it again.",
            f"readers of {quoted(topics)}",
            parties_of([one.client]) | {Party("topic", name) for name in topics},
            at,
            Cost(retries=len(given_up), records=sum(each.records for each in given_up)),
            "offsets {files} --table written_twice",
            "whether the broker wrote the first attempt, and the client tried again, was not compared",
            Certainty.POSSIBLE,
        )
        return cause._replace(title=_MAYBE)


def _excluded(seen: Evidence, retries: list[Resend], left: list[Resend]) -> str:
    """Return the retries that are excluded, and the undecided ones, if there are both."""
    late = [one for one in retries if seen.is_too_late(one)]
    no_room = [one for one in retries if one.has_no_room and one not in late]
    if len(late) + len(no_room) in (0, len(retries)):
        return ""
    open_ = [one for one in left if not one.is_written]
    return (
        _none_of("The end of the SASL session excludes", late)
        + _none_of("Offsets exclude", no_room)
        + (f" Offsets do not show whether that of {_when(open_)} was written." if open_ else "")
    )


def _none_of(what: str, excluded: list[Resend]) -> str:
    if not excluded:
        return ""
    return (
        f" {what} {plural(len(excluded), 'other retry', 'other retries')}: the first attempt of"
        f" {_when(excluded)} was not written."
    )


def _when(resends: list[Resend]) -> str:
    return joined([rfc3339(one.first.time_ns) for one in resends], _TIMES_SHOWN)
