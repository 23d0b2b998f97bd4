"""Tells by both bodies of an exchange that no rule about bodies could speak of them: then none is asked.

Both are plain (`generated.canonical`). Each look covers the rules about one API that it names, and says no
wherever one of them might want a second look; where other rules watch the API the look is not used.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kdissect.history.partitions import Topics, has_repeats, topic_lister, topic_namer
from kdissect.rules.thresholds import METADATA_LIMIT
from kdissect.rules.usual_fetch import usual_fetch
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


# By org.apache.kafka.common.protocol.ApiKeys.
_LOOKS: dict[int, tuple[Callable[[int], Look | None], frozenset[str]]] = {
    0: (_produce, frozenset({"BDY021", "BDY022", "BDY024", "PRD001", "PRD002", "PAI008"})),
    1: (
        usual_fetch,
        frozenset(
            {"BDY021", "BDY022", "BDY024", "BDY027", "FET001", "FET002", "FET003", "FET004", "FET005",
             "FET006", "FET007", "FET008"}
        ),
    ),
    8: (_commit, frozenset({"BDY021", "BDY022", "GRP008", "PAI008"})),
    12: (_heartbeat, frozenset({"GRP001"})),
}  # fmt: skip
