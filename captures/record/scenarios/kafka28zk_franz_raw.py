"""Apache Kafka 2.8.2 with ZooKeeper, one broker: every API at every version the broker names, sent with
kmsg of franz-go. Produce begins at v0 with message format 0; LeaderAndIsr, StopReplica, UpdateMetadata and
ControlledShutdown have stale epochs.
"""

from captures.record.lab import Lab
from captures.record.scenarios._raw import send_raw
from captures.record.spec import Spec

NAME = "kafka28zk_franz_raw"
BROKER = Spec("2.8.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Send everything to the broker's listener, which is the only one."""
    send_raw(lab, "broker", lab.cluster.bootstrap)
