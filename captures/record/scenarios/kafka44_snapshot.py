"""Apache Kafka 4.4.0, three KRaft nodes, captured on every port: the metadata log is cut behind its
snapshots, a node loses its copy of it and comes back: it has to fetch a snapshot before it can fetch the
log, in pieces of 1000 bytes. Afterwards its metadata log is kept under logs/, the snapshot it fetched among
it, with the output of the broker's dump tool.
"""

import shutil
import time

from captures.record import segments
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_snapshot"
BROKER = Spec(
    "4.4.0",
    nodes=3,
    sniff="all",
    properties={
        "metadata.log.max.record.bytes.between.snapshots": "500",
        "internal.metadata.log.segment.bytes": "1000",
        "metadata.max.retention.bytes": "1500",
        "controller.quorum.fetch.snapshot.max.bytes": "1000",
    },
)
_CLEANED_SECONDS = 65  # the log is cleaned once a minute


def run(lab: Lab) -> None:
    """Write metadata, wait until the log is cut, lose a copy."""
    client = java("4.4.0")
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


def after(lab: Lab) -> None:
    """Stop the node that fetched the snapshot and keep what it has."""
    lab.cluster.stop_node(2)
    segments.keep(lab, "kafka44snapshot", ["__cluster_metadata"], node=2)
