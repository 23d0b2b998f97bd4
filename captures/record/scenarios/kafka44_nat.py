"""Apache Kafka 4.4.0, one KRaft node, Java client 4.4.0 behind a NAT that gives it another address and other
ports: a producer, and a consumer in a group. One capture of both interfaces of the NAT has each connection
twice.
"""

from captures.record import workshop
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.nat import behind_nat, translated
from captures.record.scrub import scrub
from captures.record.spec import Spec

NAME = "kafka44_nat"
BROKER = Spec("4.4.0")
_COUNT = 10


def run(lab: Lab) -> None:
    """Write and read through the NAT."""
    client = behind_nat(java("4.4.0"))
    port = int(lab.cluster.bootstrap.rpartition(":")[2])
    with translated(port, workshop.folder("run", "nat", fresh=True) / "both.pcapng"):
        lab.run_driver(client, "Produce", client_id="writer", topic="orders", count=_COUNT)
        lab.run_driver(
            client, "Consume", client_id="reader", topic="orders", group="billing", count=_COUNT,
            commit="true",
        )  # fmt: skip


def after(lab: Lab) -> None:
    """Nothing went over loopback: the capture is that of the NAT."""
    taken = workshop.folder("run", "nat") / "both.pcapng"
    (lab.output / f"{NAME}.pcapng").write_bytes(scrub(taken.read_bytes()))
