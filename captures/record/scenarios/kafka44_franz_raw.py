"""Apache Kafka 4.4.0, one KRaft node: every API at every version that the listeners of broker and
controller name, sent one after the other with kmsg of franz-go; stale epochs and ids of strangers where it
could do harm.
"""

from captures.record.lab import Lab
from captures.record.scenarios._raw import send_raw
from captures.record.spec import CONTROLLER, Spec

NAME = "kafka44_franz_raw"
BROKER = Spec("4.4.0", sniff="all", properties={"metric.reporters": "TelemetryReceiver"})


def run(lab: Lab) -> None:
    """Use the broker's listener first, then the controller's."""
    send_raw(lab, "broker", lab.cluster.bootstrap)
    send_raw(lab, "controller", lab.cluster.listener(CONTROLLER))
