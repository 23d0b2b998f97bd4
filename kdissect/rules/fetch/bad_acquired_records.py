"""Rules: ranges of records that a member of a share group acquires."""

from collections.abc import Iterator

from kdissect.engine.records.record_sets import record_batches
from kdissect.model.finding import Level, Who
from kdissect.rules.guards import Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import RESPONSE, Violation
from kdissect.rules.views.body_view import Body


class BadAcquiredRecords(BodyRule):
    """Acquired ranges should ascend, not overlap, and have been delivered at least once.

    Example: offsets 5 to 3, or a delivery count of 0.

    What to do: send each acquired range once.
    """

    code = "FET011"
    name = "bad-acquired-records"
    level = Level.SHOULD
    who = Who.BROKER
    cites = ("KIP-932 Public Interfaces",)
    on = (("ShareFetch", RESPONSE),)
    guard = (Longer(("acquired_records",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the ranges of each partition."""
        for _, partition, at in body.partitions("responses"):
            last = -1
            for number, held in enumerate(partition.acquired_records):
                path = f"{at}.acquired_records[{number}]"
                if not last < held.first_offset <= held.last_offset:
                    yield body.violation(
                        path, f"a range above {last}", f"{held.first_offset} to {held.last_offset}"
                    )
                if held.delivery_count < 1:
                    yield body.violation(path, "a delivery count of 1 or more", str(held.delivery_count))
                last = held.last_offset


class AcquiredNotCarried(BodyRule):
    """Acquired records should be in the answer.

    A member receives the records in the response. It cannot process missing records, and their lock blocks
    other members until it ends. Offsets that compaction removed may lie between the records, not after them.

    Example: offsets 0 to 9 acquired, and records up to 4.

    What to do: acquire what is sent.
    """

    code = "FET024"
    name = "acquired-not-carried"
    level = Level.SHOULD
    who = Who.BROKER
    cites = ("KIP-932 Public Interfaces",)
    on = (("ShareFetch", RESPONSE),)
    guard = (Longer(("acquired_records",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the last offset acquired against the last one carried, of each partition."""
        if body.exchange.connection.logged is not None:
            return  # its records are not known
        carried = {
            (found.records_field.topic_id, found.records_field.partition): found.found
            for found in record_batches(body.exchange)
        }
        for topic, partition, at in body.partitions("responses"):
            found = carried.get((topic.topic_id, partition.partition_index))
            if found is not None and (found.faults or found.cut):
                continue
            last = max((batch.last_offset for batch in found.batches), default=-1) if found else -1
            for number, held in enumerate(partition.acquired_records):
                if held.last_offset > last:
                    expected = f"offsets up to {last}" if last >= 0 else "none: there are no records"
                    seen = f"{held.first_offset} to {held.last_offset}"
                    yield body.violation(f"{at}.acquired_records[{number}]", expected, seen)
                    break
