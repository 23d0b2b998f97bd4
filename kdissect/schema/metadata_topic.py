"""The topic that holds the metadata of a KRaft cluster."""

METADATA_TOPIC = "__cluster_metadata"  # org.apache.kafka.common.internals.Topic#CLUSTER_METADATA_TOPIC_NAME
METADATA_TOPIC_ID = bytes(15) + b"\x01"  # org.apache.kafka.common.Uuid#METADATA_TOPIC_ID
# Where one of these stands, records may be of configs, SCRAM credentials, delegation tokens: no other
# log has such.
METADATA_MARKS = (METADATA_TOPIC.encode(), METADATA_TOPIC_ID)
