"""Tells by both bodies of an exchange that no rule about bodies could speak of them: then none is asked.

Both are plain (`generated.canonical`). Each look covers the rules about one API that it names, and says no
wherever one of them might want a second look; where other rules watch the API the look is not used.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.history.listed_partitions import Topics, has_repeats, topic_lister, topic_namer
from kdissect.rules.fetch.late_fetch import LATE_FETCH_SLACK_NS
from kdissect.rules.groups.odd_commit import METADATA_LIMIT
from kdissect.session.exchange import Exchange

Look = Callable[[Any, Any, Exchange], bool]
"""Takes the values of request and response (None: there is none), and their exchange."""


class UsualBodies(NamedTuple):
    """A look, and the codes of the rules that would find nothing where it says yes."""

    look: Look
    covers: frozenset[str]


def usual_bodies(api_key: int, version: int) -> UsualBodies | None:
    """The look at exchanges of an API in a version; None where there is none."""
    found = _LOOKS.get(api_key)
    look = None if found is None else found[0](version)
    return None if found is None or look is None else UsualBodies(look, found[1])


def _produce(version: int) -> Look:
    """One partition. Acks, records, and the answer's partition; one alone is not repeated."""
    name, name_back = topic_namer(0, version, False), topic_namer(0, version, True)

    def is_usual(asked: Any, answered: Any, _exchange: Exchange) -> bool:
        topics = asked.topic_data
        if len(topics) != 1 or asked.acks not in (-1, 1, 0):
            return False
        rows = topics[0].partition_data
        if len(rows) != 1 or not rows[0].records:
            return False
        if answered is None:
            return True
        topics_back = answered.responses
        if len(topics_back) != 1 or name_back(topics_back[0]) != name(topics[0]):
            return False
        rows_back = topics_back[0].partition_responses
        return len(rows_back) == 1 and bool(rows_back[0].index == rows[0].index)

    return is_usual


def _commit(version: int) -> Look:
    """Offsets, metadata, and the answer's partitions."""
    topics_of, topics_back = topic_lister(8, version, False), topic_lister(8, version, True)

    def is_usual(asked: Any, answered: Any, exchange: Exchange) -> bool:
        request = exchange.request
        if request is None or len(request.data) > METADATA_LIMIT:
            return False
        for topic in asked.topics:
            for row in topic.partitions:
                if row.committed_offset < -1:
                    return False
        topics: Topics = topics_of(asked)
        return not has_repeats(topics) and (answered is None or topics == topics_back(answered))

    return is_usual


def _heartbeat(_version: int) -> Look:
    return _has_group


def _has_group(asked: Any, _answered: Any, _exchange: Exchange) -> bool:
    return bool(asked.group_id != "")


_FETCH = 1  # org.apache.kafka.common.protocol.ApiKeys
# Versions before it have no log_start_offset (schema of FetchResponse); nobody sends them any more.
_FIRST_VERSION = 5
_SESSIONS_FROM = 7  # KIP-227
_REPLICA_ID_UP_TO = 14  # later versions have it in a tagged field (KIP-903)
_MS = 1_000_000


def _usual_fetch(version: int) -> Callable[[Any, Any, Exchange], bool] | None:
    """The look at Fetch in a version; None for those that are not looked at."""
    if version < _FIRST_VERSION:
        return None
    has_session, has_replica = version >= _SESSIONS_FROM, version <= _REPLICA_ID_UP_TO
    topics_of, topics_back = topic_lister(_FETCH, version, False), topic_lister(_FETCH, version, True)

    def is_usual(asked: Any, answered: Any, exchange: Exchange) -> bool:
        if has_replica and asked.replica_id < -2:
            return False
        least, most = asked.min_bytes, asked.max_bytes
        if least < 0 or most <= 0 or least > most:
            return False
        session = epoch = 0
        if has_session:
            session, epoch = asked.session_id, asked.session_epoch
            if (epoch > 0 and not session) or (epoch <= 0 and asked.forgotten_topics_data):
                return False
        topics = topics_of(asked) if asked.topics else []
        if topics and has_repeats(topics):
            return False
        if answered is None:
            return True
        if epoch <= 0 and topics != topics_back(answered):
            return False
        # Answers of a session may come early: they need not have what was asked for in every one.
        return _answers_usually(asked, answered, exchange, 0 if session else least)

    return is_usual


def _answers_usually(asked: Any, answered: Any, exchange: Exchange, wanted: int) -> bool:
    """Offsets in order, one aborted transaction at most; neither late, nor early with less than `wanted`."""
    request, response = exchange.request, exchange.response
    if request is None or response is None:
        return False
    for topic in answered.responses:
        for row in topic.partitions:
            high = row.high_watermark
            if row.last_stable_offset > high or row.log_start_offset > high:
                return False
            if row.aborted_transactions and len(row.aborted_transactions) > 1:
                return False
            if row.records:
                wanted -= len(row.records)
    latency, wait = response.time_ns - request.end_time_ns, asked.max_wait_ms
    return latency <= wait * _MS + LATE_FETCH_SLACK_NS and (wanted <= 0 or latency >= wait * (_MS // 2))


# By org.apache.kafka.common.protocol.ApiKeys.
_LOOKS: dict[int, tuple[Callable[[int], Look | None], frozenset[str]]] = {
    0: (_produce, frozenset({"BDY021", "BDY022", "BDY024", "PRD001", "PRD002", "PAI008"})),
    1: (
        _usual_fetch,
        frozenset(
            {"BDY021", "BDY022", "BDY024", "BDY027", "FET001", "FET002", "FET003", "FET004", "FET005",
             "FET006", "FET007", "FET008"}
        ),
    ),
    8: (_commit, frozenset({"BDY021", "BDY022", "GRP008", "PAI008"})),
    12: (_heartbeat, frozenset({"GRP001"})),
}  # fmt: skip
