"""Apache Kafka 3.7.2, three KRaft nodes, captured on every port: the metadata log is cut behind its
snapshots, a node loses its copy of it and comes back: it has to fetch a snapshot before it can fetch the
log.
"""

import shutil
import time

from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka37_snapshot"
BROKER = Spec(
    "3.7.2",
    nodes=3,
    sniff="all",
    properties={
        "metadata.log.max.record.bytes.between.snapshots": "500",
        "metadata.log.segment.min.bytes": "1000",
        "metadata.log.segment.bytes": "1000",
        "metadata.max.retention.bytes": "1500",
    },
)
_CLEANED_SECONDS = 65  # the log is cleaned once a minute


def run(lab: Lab) -> None:
    """Write metadata, wait until the log is cut, lose a copy."""
    client = java("3.7.2")
    for number in range(6):
        lab.run_driver(
            client, "CreateTopic", client_id=f"creator-{number}", topic=f"topic-{number}", partitions=3
        )
    time.sleep(_CLEANED_SECONDS)
    lab.cluster.stop_node(2)
    shutil.rmtree(lab.cluster.nodes[1].home / "d1" / "__cluster_metadata-0")
    lab.truth.note("node 2 lost its metadata log while it was down")
    lab.cluster.launch(2)
    lab.cluster.wait_ready(2)
