"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: what brokers keep on disk. A topic per codec, one
with transactions (committed, aborted, open), one that is compacted with tombstones while the broker runs,
and read back; classic, KIP-848 and share groups that commit. Afterwards the log segments are kept under
logs/ with their indexes and producer snapshots, internal topics and the metadata log with a snapshot among
them, each file with the output of the broker's dump tool.
"""

import time

from captures.record import segments
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_logs"
BROKER = Spec(
    "4.4.0",
    properties={
        "metadata.log.max.record.bytes.between.snapshots": "2000",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "log.index.interval.bytes": "100",  # so that small segments have indexes
    },
)
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_COMPACT = "cleanup.policy=compact;segment.ms=1000;min.cleanable.dirty.ratio=0.01;delete.retention.ms=60000"


def run(lab: Lab) -> None:
    """Fill the logs."""
    client = java("4.4.0")
    for codec in _CODECS:
        options = {
            "topic": f"data-{codec}",
            "count": 6,
            "headers": "true",
            "properties": {"compression.type": codec},
        }
        lab.run_driver(client, "Produce", client_id=f"p-{codec}", **options)
    lab.run_driver(
        client,
        "Transact",
        client_id="txn",
        transactional_id="txn-1",
        topic="ledger",
        count=2,
        plan="commit,abort,open",
    )
    lab.run_driver(client, "CreateTopic", client_id="creator", topic="compacted", configs=_COMPACT)
    for turn in range(3):  # the log rolls by the records' own time
        lab.run_driver(
            client,
            "Produce",
            client_id=f"c-{turn}",
            topic="compacted",
            count=6,
            prefix=f"turn{turn}",
            later=60 * turn,
            tombstones="true",
        )
        time.sleep(1.5)
    lab.run_driver(client, "AdminGroupKinds", client_id="configurer", group="share", what="share")
    lab.run_driver(
        client, "ShareConsume", client_id="s", topic="data-none", group="share", explicit="true", count=4
    )
    for protocol in ("classic", "consumer"):
        group = {"group": protocol, "commit": "true", "properties": {"group.protocol": protocol}}
        lab.run_driver(client, "Consume", client_id=protocol, topic="data-zstd", count=6, **group)
    lab.run_driver(client, "Consume", client_id="compacted-reader", topic="compacted", polls=6)


def after(lab: Lab) -> None:
    """Stop the broker and keep what it wrote."""
    lab.cluster.stop_node(1)
    data = [*(f"data-{codec}" for codec in _CODECS), "ledger", "compacted"]
    internal = ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"]
    segments.keep(lab, "kafka44", data + internal)
