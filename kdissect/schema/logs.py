"""The records in each of Kafka's own logs, from `logs.table`, read at first use."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from operator import ne
from typing import NamedTuple

from kdissect.model.errors import SchemaError
from kdissect.schema.fact_tables import read_rows, whole_number

METADATA_TOPIC = "__cluster_metadata"  # org.apache.kafka.common.internals.Topic#CLUSTER_METADATA_TOPIC_NAME
METADATA_TOPIC_ID = bytes(15) + b"\x01"  # org.apache.kafka.common.Uuid#METADATA_TOPIC_ID
# If one of these occurs, records may be of configs, SCRAM credentials, delegation tokens: no other log has
# such records.
METADATA_MARKS = (METADATA_TOPIC.encode(), METADATA_TOPIC_ID)
_MOST_DAMAGED = 8  # bytes of an id, half of it: one of another topic is random and has hardly one in common


def may_be_metadata_topic(topic_id: bytes | None) -> bool:
    """Return whether an unknown id may be the metadata log's with a few bytes damaged. True without an id."""
    return topic_id is None or sum(map(ne, topic_id, METADATA_TOPIC_ID)) <= _MOST_DAMAGED


TABLE = "logs.table"
CONTROL = "control"  # the log of control records: they occur in every topic


class Framing(StrEnum):
    """Framing before the bodies of a log's records."""

    KEYED = "keyed"  # key: int16 type, value: int16 version
    FRAMED = "framed"  # value: unsigned varints frame version, type and version
    CONTROL = "control"  # key: int16 version, int16 type


class Log(NamedTuple):
    """One of Kafka's logs: the names of its records by type, without `Key` and `Value`."""

    name: str
    framing: Framing
    records: dict[int, str]


def log(topic: str) -> Log | None:
    """Return the log of this topic's name, None for a topic of users."""
    return _all().get(topic)


def is_own_log(topic: str | None) -> bool:
    """Return whether a topic is one of Kafka's own. False for one whose name is not known."""
    return topic is not None and log(topic) is not None


def all_logs() -> tuple[Log, ...]:
    """Return every log, in the order of the table."""
    return tuple(_all().values())


def parse_logs(rows: Iterable[tuple[str, list[str]]]) -> dict[str, Log]:
    """Return rows `log NAME FRAMING`, each followed by rows `TYPE RECORD`.

    Raises SchemaError (`file:line: why`).
    """
    logs: dict[str, Log] = {}
    current: Log | None = None
    for place, words in rows:
        if words[0] == "log" and len(words) == 3 and words[2] in list(Framing):
            current = logs[words[1]] = Log(words[1], Framing(words[2]), {})
        elif current is None or len(words) != 2:
            raise SchemaError(f"{place}: a row is 'log NAME FRAMING' or, below one, 'TYPE RECORD'")
        else:
            current.records[whole_number(words[0], place)] = words[1]
    return logs


@cache
def _all() -> dict[str, Log]:
    return parse_logs(read_rows(TABLE))
