"""Everything in `kdissect.stats` over some events, with the rows that commands print."""

import json

from kdissect.history.exchange_view import ExchangeView
from kdissect.history.topics.topic_names import TopicNames
from kdissect.session.events import Event
from kdissect.session.exchange import Exchange
from kdissect.stats.blind_spots import BlindSpots
from kdissect.stats.by_fetcher.fetch_session_traffic import FetchSessionTraffic, fetch_session_facts
from kdissect.stats.by_group.group_links import GroupLinks
from kdissect.stats.by_group.group_rows import group_facts
from kdissect.stats.by_group.group_traffic import GroupTraffic
from kdissect.stats.by_producer.producer_rows import producer_facts
from kdissect.stats.by_producer.producer_traffic import ProducerTraffic
from kdissect.stats.by_topic.topic_rows import topic_facts
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.dimensions import DIMENSIONS, Context, key_maker
from kdissect.stats.traffic import Traffic
from kdissect.stats.traffic_rows import traffic_facts
from kdissect.stats.upgrade_audit import UpgradeAudit, upgrade_facts


def count(events: list[Event], is_told: bool = True) -> int:
    """Count all; gives the length of what would be printed if `is_told`."""
    names = TopicNames({}, None)
    by = list(DIMENSIONS)[:3]
    context = Context(names, GroupLinks())
    traffic, every = Traffic(key_maker(by, context)), Traffic(key_maker(["topic"], context))
    topics, groups, unseen = TopicTraffic(names, True), GroupTraffic(names), BlindSpots()
    producers, sessions, audit = ProducerTraffic(names), FetchSessionTraffic(), UpgradeAudit("4.0")
    for event in events:
        unseen.add(event)
        producers.add(event, True)
        sessions.add(event, True)
        audit.add(event, True)
        if isinstance(event, Exchange):
            turn = ExchangeView(event)
            context.groups.learn(turn)
            traffic.add(turn)
            every.add(turn)
            topics.add(event)
            groups.add(event, True)
    producers.finish()
    sessions.finish()
    if not is_told:
        return 0
    facts = [
        traffic_facts(traffic, by, None, 20, "exchanges"),
        traffic_facts(every, ["topic"], 9, 20, "exchanges"),
        topic_facts(topics),
        group_facts(groups),
        producer_facts(producers),
        fetch_session_facts(sessions),
        upgrade_facts(audit),
    ]
    return len(json.dumps(facts))
