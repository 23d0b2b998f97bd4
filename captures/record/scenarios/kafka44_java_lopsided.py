"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: 5 ms to the broker, 35 ms back, and three of a
hundred packets are lost. A producer sends one record after the other and waits for each, a consumer reads
them. Captured at both ends, into `captures/taps`.
"""

from captures.record import workshop
from captures.record.far import Way, far, far_away
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.scenarios.kafka44_java_far import keep_both_ends
from captures.record.spec import Spec

NAME = "kafka44_java_lopsided"
BROKER = Spec("4.4.0")
_WAY = Way(5, 35, loss=0.03)
_RECORDS = 16


def run(lab: Lab) -> None:
    """Write and read over a way that is longer on the way back."""
    client = far(java("4.4.0"))
    port = int(lab.cluster.bootstrap.rpartition(":")[2])
    with far_away(_WAY, port, workshop.folder("run", "far", fresh=True)) as way:
        lab.run_driver(
            client, "Produce", client_id="writer", topic="far", count=_RECORDS,
            properties={"max.in.flight.requests.per.connection": "1", "batch.size": "1", "linger.ms": "0"},
        )  # fmt: skip
        lab.run_driver(
            client, "Consume", client_id="reader", topic="far", count=_RECORDS,
            properties={"max.poll.records": "4", "fetch.max.wait.ms": "300"},
        )  # fmt: skip
    lab.truth.content["way"] = {
        "to_broker_ms": _WAY.to_broker_ms, "to_client_ms": _WAY.to_client_ms, "loss": _WAY.loss, **way
    }  # fmt: skip


def after(lab: Lab) -> None:
    """Nothing went over loopback: the captures are those of the way."""
    keep_both_ends(lab, NAME)
