"""Coverage of a run: API versions, peers, and the rules that had subjects to judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kdissect.model.finding import Who
from kdissect.model.frame import is_cut_by_end
from kdissect.rules.finding_evidence import Labels
from kdissect.rules.kinds import ExchangeRule, UndecodableRule
from kdissect.rules.run_coverage.rule_coverage import Exercises
from kdissect.rules.run_coverage.traffic_counts import Traffic
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo, ConnectionKind

Peer = tuple[Who, str, str | None, str | None, str | None]


def peer_order(peer: Peer) -> tuple[str, ...]:
    """Return a sort key of peers, for lists that do not depend on who was seen first."""
    return tuple(str(part or "") for part in peer)


NUMBERS = (
    "exchanges", "middle_starts", "gaps", "gap_bytes", "one_sided", "cut_frames", "bytes_cut_off",
    "half_read",
)  # fmt: skip
"""Attributes of `Coverage` that add up."""


class Coverage:
    """Counts. `apis` are exchanges by API key and version, `peers` connections by role, host, software,
    version and client id, `exercises` what was judged for which software, `traffic` latencies and times.
    """

    def __init__(self, labels: Labels | None = None) -> None:
        self.apis: Counter[tuple[int | None, int | None]] = Counter()
        self.exercises = Exercises(labels or {})
        self._now = self.exercises.now.rules
        self.traffic = Traffic()
        self.peers: Counter[Peer] = Counter()
        self.connections: Counter[str] = Counter()
        self.batch_codes: dict[int | None, tuple[str, ...]] = {}
        """Codes of the rules that look at batches, by API."""
        self.exchanges = 0
        self.middle_starts = 0
        self.gaps = 0
        self.gap_bytes = 0
        self.one_sided = 0
        """Connections with packets in one direction only."""
        self.cut_frames = 0
        self.bytes_cut_off = 0
        """Payload bytes that the snapshot length cut off."""
        self.half_read = 0
        """Connections over TLS that were decrypted in part."""

    def exercise(self, code: str, times: int = 1) -> None:
        """Count that a rule looked at something of the connection named by `at`."""
        self._now[code] += times

    def at(self, info: ConnectionInfo) -> None:
        """Count the following for this connection."""
        self._now = self.exercises.at(info).rules

    @contextmanager
    def aside(self, counts: Counter[str]) -> Iterator[None]:
        """Count the subjects of rules there within the context."""
        now, self._now = self._now, counts
        try:
            yield
        finally:
            self._now = now

    def merge(self, other: Coverage) -> None:
        """Add the coverage of another process, when both are finished."""
        self.apis.update(other.apis)
        self.peers.update(other.peers)
        self.connections.update(other.connections)
        self.exercises.merge(other.exercises)
        self.traffic.merge(other.traffic)
        for name in NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def rules(self) -> Counter[str]:
        """Subjects looked at by rule code."""
        return self.exercises.rules()

    def look(self, codes: tuple[str, ...], times: int = 1) -> None:
        """Count that these rules looked at something; `Exercise.settle` counts them."""
        self.exercises.now.look(codes, times)

    def pass_over(self, code: str) -> None:
        """Count that a rule that is counted in bulk did not look at this one."""
        self._now[code] -= 1

    def add_exchange(self, exchange: Exchange) -> None:
        """Count one exchange, which is then the one that is judged."""
        self.exchanges += 1
        now = self.exercises.at(exchange.connection)
        self._now = now.rules
        now.exchanges += 1
        self.traffic.add(exchange)
        self.apis[exchange.api_key, exchange.api_version] += 1
        if exchange.connection.logged is not None:  # the missing parts of its log are reported for the log
            return
        request, response = exchange.request, exchange.response
        if request is not None and len(request.data) < request.size and not is_cut_by_end(request):
            self.cut_frames += 1
        if response is not None and len(response.data) < response.size and not is_cut_by_end(response):
            self.cut_frames += 1

    def settle(self) -> None:
        """Count the exchanges that were counted by kind (`BodyPair`)."""
        for exercise in self.exercises.pairs.values():
            for (api_key, api_version, is_answered, _), pair in exercise.pairs.items():
                count, batches = pair.settle()
                if not count:
                    continue
                self.apis[api_key, api_version] += count
                self.exchanges += count
                exercise.exchanges += count
                exercise.bodies += count * (1 + is_answered)
                exercise.look(self.batch_codes.get(api_key, ()), batches)

    def finish(
        self, exchange_rules: Iterable[ExchangeRule], undecodable_rules: Iterable[UndecodableRule]
    ) -> None:
        """End the input: count everything that was looked at all the time."""
        self.settle()
        self.exercises.finish(exchange_rules, undecodable_rules)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state after `settle`.

        Pairs of kinds are looked up again elsewhere, because they contain functions.
        """
        self.settle()
        return self.__dict__

    def add_connection(self, info: ConnectionInfo) -> None:
        """Count one connection that is over."""
        self.connections[str(info.kind)] += 1
        if info.tcp is not None:
            self.gaps += info.tcp.gaps
            self.gap_bytes += info.tcp.gap_bytes
            self.bytes_cut_off += info.tcp.bytes_cut_off
        if info.kind is not ConnectionKind.KAFKA:
            return
        self.middle_starts += info.middle_start
        self.half_read += info.tls is not None and info.tls.why is not None
        if info.tcp is not None and info.exchanges and info.tcp.is_one_sided:
            self.one_sided += 1
        client = (Who.CLIENT, info.client.host, info.software_name, info.software_version, info.client_id)
        self.peers[client] += 1
        self.peers[Who.BROKER, str(info.broker), None, None, None] += 1
