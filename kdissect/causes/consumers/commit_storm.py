"""`commit-storm`: a consumer commits many times for what one Fetch brings."""

from __future__ import annotations

from collections.abc import Iterator

from kdissect.causes.cause import SECOND_NS, Cause, client_text
from kdissect.causes.evidence.evidence import Evidence, parties_of
from kdissect.causes.evidence.seen import Seen
from kdissect.model.cause import Cost, FoundCause, Packets, Party, Severity
from kdissect.model.wording import plural
from kdissect.report.quantities import rate
from kdissect.stats.client import Client

_LEAST = 100
_RATE = 20  # commits a second on a connection that carries commits
_PER_FETCH = 2  # a consumer that commits what each Fetch brought sends one


class CommitStorm(Cause):
    """OffsetCommits, many a second on each connection, and more than Fetches."""

    id = "commit-storm"
    title = "A consumer commits offsets all the time"
    severity = Severity.WASTES
    help = (
        "Commit after a batch of records or after some seconds, not behind each record: the last offset of a"
        " partition is enough, and each commit is a write to the coordinator."
    )
    cites = ("org.apache.kafka.clients.consumer.ConsumerConfig#AUTO_COMMIT_INTERVAL_MS_CONFIG",)

    def find(self, seen: Evidence) -> Iterator[FoundCause]:
        """Yield each client and coordinator."""
        for (api, client_id, host, broker), tally in seen.tallies:
            if api != "OffsetCommit" or tally.exchanges < _LEAST:
                continue
            if tally.first_ns is None or tally.last_ns is None:
                continue
            connections = max(seen.gathering.rewinds.carrying(client_id, host, broker), 1)
            span_ns = max(tally.last_ns - tally.first_ns, 1)
            fetches = sum(
                one.exchanges
                for (name, of, at, _), one in seen.background
                if (name, of, at) == ("Fetch", client_id, host)
            )
            if (
                tally.exchanges * SECOND_NS < _RATE * connections * span_ns
                or tally.exchanges < _PER_FETCH * fetches
            ):
                continue
            client = Client(None, client_id or None, None, host)
            at = Seen()
            connection = seen.connection_of(client_id or None, host, broker)
            at.add(Packets(connection, -1, "OffsetCommit", tally.first_ns))
            at.times, at.last_ns = tally.exchanges, tally.last_ns
            yield self.found(
                f"{client_text(client)} sent {plural(tally.exchanges, 'OffsetCommit', spec=',')} to {broker},"
                f" {rate(tally.exchanges, span_ns)}.",
                client_text(client),
                parties_of([client]) | {Party("broker", broker)},
                at,
                Cost(bytes=tally.bytes or 0),
                "stats {files} --by api,client_id",
            )
