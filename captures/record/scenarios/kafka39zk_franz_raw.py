"""Apache Kafka 3.9.2 with ZooKeeper, one broker: every API at every version the broker names, sent with
kmsg of franz-go; the newest of LeaderAndIsr, StopReplica, UpdateMetadata and ControlledShutdown, with
stale epochs.
"""

from captures.record.lab import Lab
from captures.record.scenarios._raw import send_raw
from captures.record.spec import Spec

NAME = "kafka39zk_franz_raw"
BROKER = Spec("3.9.2", zookeeper=True)


def run(lab: Lab) -> None:
    """Send everything to the broker's listener, which is the only one."""
    send_raw(lab, "broker", lab.cluster.bootstrap)
