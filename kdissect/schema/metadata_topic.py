"""The topic that holds the metadata of a KRaft cluster."""

from operator import ne

METADATA_TOPIC = "__cluster_metadata"  # org.apache.kafka.common.internals.Topic#CLUSTER_METADATA_TOPIC_NAME
METADATA_TOPIC_ID = bytes(15) + b"\x01"  # org.apache.kafka.common.Uuid#METADATA_TOPIC_ID
# Where one of these stands, records may be of configs, SCRAM credentials, delegation tokens: no other
# log has such.
METADATA_MARKS = (METADATA_TOPIC.encode(), METADATA_TOPIC_ID)
_MOST_DAMAGED = 8  # bytes of an id, half of it: one of another topic is random and has hardly one in common


def may_be_metadata_topic(topic_id: bytes | None) -> bool:
    """Whether an unknown id may be the metadata log's with a few bytes damaged; so may none at all."""
    return topic_id is None or sum(map(ne, topic_id, METADATA_TOPIC_ID)) <= _MOST_DAMAGED
