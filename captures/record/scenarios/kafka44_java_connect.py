"""Apache Kafka 4.4.0, one KRaft node, Kafka Connect 4.3.1 in distributed mode: two workers form a group of
protocol type connect (their assignments travel in JoinGroup and SyncGroup), a source connector reads a
file into a topic and a sink connector writes it to another; one worker leaves.
"""

import time

from captures.record.connect import Worker
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_java_connect"
BROKER = Spec("4.4.0")
_FILE = "org.apache.kafka.connect.file.FileStream"


def run(lab: Lab) -> None:
    """Two workers, two connectors, one rebalance."""
    lines = lab.cluster.nodes[0].home / "lines.txt"
    lines.write_text("".join(f"line {number}\n" for number in range(5)))
    first = Worker(lab, 1)
    second = None
    try:
        first.wait_ready()
        source = {"connector.class": f"{_FILE}SourceConnector", "topic": "lines", "file": str(lines)}
        first.call("connectors", {"name": "source", "config": source})
        sink = {"connector.class": f"{_FILE}SinkConnector", "topics": "lines", "file": f"{lines}.copy"}
        first.call("connectors", {"name": "sink", "config": sink})
        second = Worker(lab, 2)
        second.wait_ready()
        time.sleep(6)
    finally:
        for worker in (second, first):
            if worker is not None:
                worker.stop()
    lab.truth.note("the file of the source had five lines, `line 0` to `line 4`, sent to the topic `lines`")
