"""The counts of `TopicTraffic` as plain values, for JSON and tables (docs/statistics.md)."""

from collections.abc import Callable, Mapping
from typing import Any

from kdissect.engine.exchange_rows import topic_id_text
from kdissect.session.identities import plain_name
from kdissect.stats.by_topic.topic import Role, Topic, Use
from kdissect.stats.by_topic.topic_traffic import TopicTraffic
from kdissect.stats.client import Client
from kdissect.stats.leaders import Coverage

Facts = dict[str, Any]
_READING = (Role.READ, Role.SHARE, Role.FOLLOW)
_NOTHING = Coverage(0, 0)
# Null if a request log, which has no records, is part of it.
_OF_RECORDS = (
    "batches", "records", "unconfirmed", "refused", "uncounted", "acquired", "acquired_unknown",
)  # fmt: skip


def topic_facts(
    traffic: TopicTraffic,
    wanted: Callable[[str], object] | None = None,
    saved: Mapping[tuple[str, str], Facts | None] | None = None,
) -> list[Facts]:
    """Return the `wanted` topics by name, and last the topics beyond the bound. `saved` has what larger
    batches would save, by topic and cluster (`Savings.facts`).
    """
    traffic.catch_up()
    coverage = traffic.leaders.coverage(traffic.apart)

    def covered(key: str, cluster: str) -> Coverage:
        if traffic.was_replaced(key, cluster):  # Metadata is that of the topic that has the name now
            return _NOTHING
        return coverage.get((plain_name(key), cluster), _NOTHING)

    found = [
        _topic(traffic, topic, cluster, covered(key, cluster))
        | ({} if saved is None else {"savings": saved.get((key, cluster))})
        for (key, cluster), topic in sorted(traffic.by_cluster().items())
        if wanted is None or wanted(plain_name(key))
    ]
    if wanted is None and (traffic.other.users or traffic.other.denied):
        found.append(
            _topic(traffic, traffic.other, "", _NOTHING) | ({} if saved is None else {"savings": None})
        )
    return found


def _topic(traffic: TopicTraffic, topic: Topic, cluster: str, coverage: Coverage) -> Facts:
    users = [_user(traffic, topic, role, client) for role, client in topic.users]
    return {
        **({"cluster": cluster} if cluster else {}),
        "topic": topic.name,
        "topic_id": None if topic.topic_id is None else topic_id_text(topic.topic_id),
        "partitions": sorted(topic.partitions),
        "partition_count": coverage.partitions or None,
        "leaders_not_captured": coverage.unseen,
        "written": _sum(topic, (Role.WRITE,)),
        "read": _sum(topic, (Role.READ, Role.SHARE)),
        "codecs": dict(topic.codecs.most_common()),
        "magics": {str(magic): count for magic, count in sorted(topic.magics.items())},
        "control_batches": topic.control_batches,
        "batch_bytes": topic.batch_bytes.facts(),
        "batch_records": topic.batch_records.facts(),
        "key_bytes": topic.key_bytes.facts(),
        "value_bytes": topic.value_bytes.facts(),
        "writers": [user for user in users if user["role"] == Role.WRITE],
        "readers": [user for user in users if user["role"] in _READING],
        "denied": [
            client.facts() | {"api": api, "attempts": count} for (client, api), count in topic.denied.items()
        ],
    }


def _sum(topic: Topic, roles: tuple[Role, ...]) -> Facts:
    total, is_shared = Use(), False
    for (role, _), use in topic.users.items():
        if role in roles:
            total.merge(use)
            is_shared |= role is Role.SHARE
    return _use(total, is_shared)


def _user(traffic: TopicTraffic, topic: Topic, role: Role, client: Client) -> Facts:
    link = topic.readers_of.get((role, client))
    groups = [] if link is None or role is Role.WRITE else list(traffic.groups.of_client(link))
    return {
        "role": str(role),
        **client.facts(),
        "groups": groups,
        **_use(topic.users[role, client], role is Role.SHARE),
    }


def _use(use: Use, is_shared: bool) -> Facts:
    facts = {
        "requests": use.requests,
        "batches": use.batches,
        "records": use.records,
        "bytes": None if use.unsized else use.bytes,
        "unconfirmed": use.unconfirmed,
        "refused": use.refused,
        "uncounted": use.uncounted,
        "acquired": use.acquired if is_shared else None,
        "acquired_unknown": use.acquired_unknown if is_shared else None,
        "errors": dict(use.errors.most_common()),
    }
    return facts | dict.fromkeys(_OF_RECORDS) if use.unlogged else facts
