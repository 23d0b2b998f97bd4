"""Apache Kafka 2.8.2 with ZooKeeper, one broker, Java client 2.8.2: the message formats 0 (0.9), 1 (0.10)
and 2 (2.8) with each codec they have, written and read back; a transaction. Afterwards the log segments
are kept under logs/ with their indexes and producer snapshots, those of the internal topics too, each file
with the output of the broker's dump tool.
"""

from captures.record import segments
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka28_java_logs"
BROKER = Spec(
    "2.8.2",
    zookeeper=True,
    properties={
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "log.index.interval.bytes": "100",  # so that small segments have indexes
    },
)
_FORMATS = {"0.9.0": "magic0", "0.10.2": "magic1", "2.8": "magic2"}
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def _topics() -> dict[str, tuple[str, str]]:
    pairs = ((version, codec) for version in _FORMATS for codec in _CODECS)
    return {
        f"{_FORMATS[version]}-{codec}": (version, codec)
        for version, codec in pairs
        if codec != "zstd" or version == "2.8"
    }


def run(lab: Lab) -> None:
    """One topic per format and codec."""
    client = java("2.8.2")
    for topic, (version, codec) in _topics().items():
        lab.run_driver(
            client,
            "CreateTopic",
            client_id=f"create-{topic}",
            topic=topic,
            configs=f"message.format.version={version}",
        )
        lab.run_driver(
            client,
            "Produce",
            client_id=f"p-{topic}",
            topic=topic,
            count=5,
            properties={"compression.type": codec},
        )
    names = ",".join(_topics())
    lab.run_driver(
        client,
        "Consume",
        client_id="reader",
        topic=names,
        count=5 * len(_topics()),
        group="readers",
        commit="true",
    )
    lab.run_driver(
        client,
        "Transact",
        client_id="txn",
        transactional_id="txn-1",
        topic="ledger",
        count=2,
        plan="commit,abort",
    )


def after(lab: Lab) -> None:
    """Stop the broker and keep what it wrote."""
    lab.cluster.stop_node(1)
    segments.keep(lab, "kafka28", [*_topics(), "ledger", "__consumer_offsets", "__transaction_state"])
