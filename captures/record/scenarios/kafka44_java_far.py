"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0: 40 ms lie between both, and some packets are lost.
A producer sends one record after the other and waits for each; a consumer reads them all and takes its
time. Captured at both ends, into `captures/taps`.
"""

from captures.record import workshop
from captures.record.far import Way, far, far_away
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.scrub import scrub
from captures.record.spec import Spec

NAME = "kafka44_java_far"
BROKER = Spec("4.4.0")
_WAY = Way(20, 20, (10, 17, 30, 41, 62))
_RECORDS = 16


def run(lab: Lab) -> None:
    """Write and read over the long way."""
    client = far(java("4.4.0"))
    port = int(lab.cluster.bootstrap.rpartition(":")[2])
    one_by_one = {"max.in.flight.requests.per.connection": "1", "batch.size": "1", "linger.ms": "0"}
    with far_away(_WAY, port, workshop.folder("run", "far", fresh=True)) as way:
        lab.run_driver(
            client, "Produce", client_id="writer", topic="far", count=_RECORDS, properties=one_by_one
        )
        lab.run_driver(
            client, "Consume", client_id="reader", topic="far", count=_RECORDS, slow=150,
            properties={
                "max.poll.records": "4", "fetch.max.wait.ms": "300", "max.partition.fetch.bytes": "300",
            },
        )  # fmt: skip
    lab.truth.content["way"] = {"round_trip_ms": _WAY.to_broker_ms + _WAY.to_client_ms, **way}


def after(lab: Lab) -> None:
    """Nothing went over loopback: the captures are those of the way."""
    keep_both_ends(lab, NAME)


def keep_both_ends(lab: Lab, name: str) -> None:
    """Keep the captures of both ends with their truth."""
    taken, target = workshop.folder("run", "far"), lab.output / "taps"
    target.mkdir(exist_ok=True)
    for end in ("client", "broker"):
        (target / f"{name}.{end}.pcapng").write_bytes(scrub((taken / f"{end}.pcapng").read_bytes()))
    (lab.output / f"{name}.pcapng").unlink()
    (lab.output / f"{name}.truth.json").replace(target / f"{name}.truth.json")
