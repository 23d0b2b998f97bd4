"""One survey: everything that counts, judges and follows histories, fed with the same events.

`add` the analyzer's events, ask `facts` at any time, `finish` at the end. Without threads, files and clocks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from kdissect.engine.connection_rows import connection_row
from kdissect.history.topics import TopicNames
from kdissect.history.turn import Turn
from kdissect.rules.judge import Judge
from kdissect.session.events import ConnectionOpened, Event
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.dimensions import Context, key_maker
from kdissect.stats.group_links import GroupLinks
from kdissect.stats.group_rows import group_facts
from kdissect.stats.groups import GroupTraffic
from kdissect.stats.producer_rows import producer_facts
from kdissect.stats.producers import ProducerTraffic
from kdissect.stats.topic_rows import topic_facts
from kdissect.stats.topics import TopicTraffic
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import traffic_facts
from kdissect.tui.survey.job import CONNECTIONS, FINDINGS, GROUPS, PRODUCERS, TOPICS, TRAFFIC, Facts
from kdissect.tui.survey.placed_findings import PlacedFindings

# Connections in the table: 2 KB each. Of more the latest are shown, for the first are over for longest.
MAX_CONNECTIONS = 20_000
# Rows of traffic, and points of its plot: more than any screen shows at once.
TOP = 500
POINTS = 240

Accepts = Callable[[Exchange], bool]


class Survey:
    """`accepts` chooses the exchanges that count; findings and connections are those of all."""

    def __init__(self, names: TopicNames, accepts: Accepts | None = None, by: str = "api") -> None:
        self._accepts = accepts
        self._by = by
        self.exchanges = 0
        """Exchanges taken so far, filtered or not."""
        self._links = GroupLinks() if by == "group" else None
        self._traffic = Traffic(key_maker([by], Context(names, self._links or GroupLinks())))
        self._topics = TopicTraffic(names)
        self._unseen = BlindSpots()
        self._groups = GroupTraffic(names)
        self._producers = ProducerTraffic(names, is_selective=accepts is not None)
        self._connections: OrderedDict[str, ConnectionInfo] = OrderedDict()
        self._forgotten = 0
        self.findings = PlacedFindings()
        self._judge = Judge()
        self._judge.findings = self.findings
        self._parts: dict[str, Callable[[], Facts]] = {
            CONNECTIONS: self._connection_facts,
            TOPICS: self._topic_facts,
            GROUPS: self._group_facts,
            PRODUCERS: self._producer_facts,
            TRAFFIC: self._traffic_facts,
            FINDINGS: self._finding_facts,
        }

    def add(self, event: Event) -> None:
        """Take the analyzer's next event. Raises nothing."""
        if isinstance(event, Exchange):
            self._exchange(event)
        else:
            if isinstance(event, ConnectionOpened):
                self._connection(event.connection)
            self._producers.add(event)
        self._unseen.add(event)
        self._judge.add(event)  # last: it forgets the bodies

    def finish(self) -> None:
        """The inputs are read to their end."""
        self._producers.finish()
        self._judge.finish()

    def facts(self, part: str) -> Facts:
        """What is known of one of `job.PARTS` by now."""
        return self._parts[part]()

    def _exchange(self, exchange: Exchange) -> None:
        self.exchanges += 1
        exchange.bodies()  # decoded once for everybody
        self._connection(exchange.connection)
        wanted = self._accepts is None or self._accepts(exchange)
        turn = Turn(exchange)
        if self._links is not None:
            self._links.learn(turn)
        if wanted:
            self._traffic.add(turn)
        self._topics.add(turn, wanted)
        self._groups.add(turn, wanted)
        self._producers.add(exchange, wanted)

    def _connection(self, info: ConnectionInfo) -> None:
        known = self._connections
        if info.id in known:
            return
        if len(known) >= MAX_CONNECTIONS:
            known.popitem(last=False)
            self._forgotten += 1
        known[info.id] = info

    def _connection_facts(self) -> Facts:
        first = self._forgotten + 1
        rows = [connection_row(number, info) for number, info in enumerate(self._connections.values(), first)]
        return {"connections": rows, "forgotten": self._forgotten}

    def _topic_facts(self) -> Facts:
        unseen = self._unseen.facts() | {"brokers": self._topics.leaders.unseen_brokers()}
        return {"topics": topic_facts(self._topics), "not_seen": unseen}

    def _group_facts(self) -> Facts:
        return {"groups": group_facts(self._groups), "forgotten": self._groups.logs.forgotten}

    def _producer_facts(self) -> Facts:
        return producer_facts(self._producers)

    def _traffic_facts(self) -> Facts:
        return traffic_facts(self._traffic, [self._by], TOP, POINTS)

    def _finding_facts(self) -> Facts:
        log = self.findings
        return {
            "findings": log.all(),
            "dropped": log.dropped,
            "exchanges": len(log.codes),
            "is_full": log.is_full,
        }
