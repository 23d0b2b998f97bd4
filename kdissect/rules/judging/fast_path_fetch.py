"""The look at both bodies of a Fetch (`judging.fast_path_bodies`): rules FET001 to FET008, BDY022, BDY027."""

from collections.abc import Callable
from typing import Any

from kdissect.history.listed_partitions import has_repeats, topic_lister
from kdissect.rules.judging.thresholds import LATE_FETCH_SLACK_NS
from kdissect.session.exchange import Exchange

_FETCH = 1  # org.apache.kafka.common.protocol.ApiKeys
# Versions before it have no log_start_offset (schema of FetchResponse); nobody sends them any more.
_FIRST_VERSION = 5
_SESSIONS_FROM = 7  # KIP-227
_REPLICA_ID_UP_TO = 14  # later versions have it in a tagged field (KIP-903)
_MS = 1_000_000


def usual_fetch(version: int) -> Callable[[Any, Any, Exchange], bool] | None:
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
