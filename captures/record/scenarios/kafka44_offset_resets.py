"""Apache Kafka 4.4.0, one KRaft node: kafka-consumer-groups sets the offsets of groups that nobody is a
member of. To the earliest, to an offset, by a shift, to a time and to the latest; once with --dry-run
alone, which sets nothing. The group reads between, Java client 4.4.0.
"""

from captures.record.commands import reset_offsets
from captures.record.java import java
from captures.record.lab import Lab
from captures.record.spec import Spec

NAME = "kafka44_offset_resets"
BROKER = Spec("4.4.0")
_COUNT = 12


def run(lab: Lab) -> None:
    """Run a reader, and reset the offsets of its group."""
    client = java("4.4.0")
    lab.run_driver(client, "Produce", client_id="writer", topic="orders", count=_COUNT)
    reads = {"topic": "orders", "group": "billing", "commit": "true"}
    lab.run_driver(client, "Consume", client_id="reader", count=_COUNT, **reads)
    reset_offsets(lab, "dry", "billing", "orders", "--to-earliest", "--dry-run")
    reset_offsets(lab, "tool", "billing", "orders", "--to-offset", "5", "--execute")
    lab.run_driver(client, "Consume", client_id="reader", count=_COUNT - 5, **reads)
    reset_offsets(lab, "tool", "billing", "orders", "--shift-by", "-3", "--execute")
    reset_offsets(lab, "tool", "billing", "orders", "--to-earliest", "--execute")
    reset_offsets(lab, "tool", "billing", "orders", "--to-latest", "--execute")
    reset_offsets(lab, "tool", "auditors", "orders", "--to-offset", "7", "--execute")
