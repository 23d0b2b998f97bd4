"""MirrorMaker 4.3.1 on one host with two clusters of Apache Kafka 4.4.0, one KRaft node each: it copies the
topics `orders` and `events` from the first to the second, and `orders` back. Both clusters have a topic
`orders` of their own, and groups of one name read it. Java client 4.4.0. How far each log goes is what the
brokers say in the end, when MirrorMaker has stopped.
"""

from captures.record.commands import tell_offsets
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.mirror import VERSION, Mirror
from captures.record.scenarios._clusters import another
from captures.record.spec import Spec

NAME = "kafka44_mirror"
BROKER = Spec("4.4.0")
_WRITTEN = {("first", "orders"): 30, ("first", "events"): 7, ("second", "orders"): 12}
_READ = {("first", "orders"): 30, ("second", "orders"): 12, ("second", "first.orders"): 30}


def run(lab: Lab) -> None:
    """Writers, MirrorMaker, readers."""
    client = java("4.4.0")
    with another(lab) as second:
        places = {"first": lab.cluster.bootstrap, "second": second.bootstrap}
        for name, bootstrap in places.items():
            lab.run_driver(client, "NameCluster", client_id=f"{name}-admin", bootstrap=bootstrap)
        mirror = Mirror(lab.cluster.base, places)
        lab.truth.note(f"MirrorMaker {VERSION}")
        try:
            for (name, topic), count in _WRITTEN.items():
                lab.run_driver(
                    client, "Produce", client_id=f"{name}-writer", bootstrap=places[name], topic=topic,
                    count=count,
                )  # fmt: skip
            mirror.wait_copied(places["second"], "first.orders", 30)
            mirror.wait_copied(places["second"], "first.events", 7)
            mirror.wait_copied(places["first"], "second.orders", 12)
            for (name, topic), count in _READ.items():
                lab.run_driver(
                    client, "Consume", client_id=f"{name}-reader", bootstrap=places[name], topic=topic,
                    group="readers", count=count, commit="true",
                )  # fmt: skip
        finally:
            mirror.stop()
        for name, bootstrap in places.items():
            tell_offsets(lab, name, bootstrap)
