"""Rules: offsets and sizes in Fetch and ShareFetch that go with no records."""

from collections.abc import Iterator

from kdissect.engine.replica_ids import CONSUMER, replica_id
from kdissect.model.finding import Claim, Level, Severity, Who
from kdissect.model.wording import plural
from kdissect.rules.guards import All, Below, Longer
from kdissect.rules.kinds import BodyRule
from kdissect.rules.rule import BOTH_FRAMES, REQUEST, RESPONSE, Violation
from kdissect.rules.views.body_view import Body
from kdissect.schema.types import NO_UPPER_BOUND, Versions

_HEAD = 12  # offset and size before a message or batch: spec/001 "5.3.3 Old Message Format"


class NegativeFetchOffset(BodyRule):
    """A Fetch must ask for an offset of 0 or more.

    Brokers answer OFFSET_OUT_OF_RANGE. ListOffsets has numbers below 0 for the ends of a log, Fetch has none.

    Example: fetch_offset -7.

    What to do: ask ListOffsets for the offset first.
    """

    code = "FET026"
    name = "negative-fetch-offset"
    claim = Claim.REFUSED
    who = Who.CLIENT
    cites = ("spec/000 Fetch API",)
    on = (("Fetch", REQUEST),)
    guard = (Below(("fetch_offset",), 0),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield each partition of the request."""
        for _, partition, at in body.partitions("topics"):
            if partition.fetch_offset < 0:
                yield body.violation(f"{at}.fetch_offset", "0 or more", str(partition.fetch_offset))


class NoLockTime(BodyRule):
    """Records that are acquired must have a time until which they are.

    The member acknowledges them within acquisition_lock_timeout_ms. Then others get them.

    Example: acquired records, and acquisition_lock_timeout_ms 0.

    What to do: send the time of the group's locks.
    """

    code = "FET027"
    name = "no-lock-time"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    cites = ("KIP-932 Public Interfaces",)
    on = (("ShareFetch", RESPONSE),)
    versions = Versions(1, NO_UPPER_BOUND)
    guard = (Below((".acquisition_lock_timeout_ms",), 1),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the time, where records were acquired."""
        answer = body.value
        time_ms = answer.acquisition_lock_timeout_ms
        has_records = any(row.acquired_records for _, row, _ in body.partitions("responses"))
        if time_ms <= 0 and has_records and not answer.error_code:
            yield body.violation("acquisition_lock_timeout_ms", "more than 0", str(time_ms))


class OnlyPartOfMessage(BodyRule):
    """A fetch up to v2 should ask for at least the bytes of the largest message or batch.

    Brokers cut the records at the size asked for. From v3 on they send the first batch whole. A client that
    gets a part alone can read nothing: it fails, asks for the same again, or for more. What Apache Kafka
    sends behind records that an old format has no place for, such as ends of transactions, is left out: it
    has offset -1, and is longer than the answer on purpose.

    Example: max_bytes 1024, and 1024 bytes from a batch of 8 kB.

    What to do: raise the limit of the partition (fetch.message.max.bytes), or use v3 or later.
    """

    code = "FET028"
    name = "only-part-of-message"
    level = Level.SHOULD
    claim = Claim.DIFFERS
    who = Who.CLIENT
    needs = BOTH_FRAMES
    cites = ("KIP-74 Proposed Changes", "spec/000 Fetch API")
    on = (("Fetch", RESPONSE),)
    versions = Versions(0, 2)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield the size of each partition's first message."""
        for _, partition, at in body.partitions("responses"):
            records = bytes((partition.records or b"")[:_HEAD])
            size = _HEAD + int.from_bytes(records[8:], signed=True)
            held = len(partition.records or b"")
            is_filler = int.from_bytes(records[:8], signed=True) < 0
            if len(records) == _HEAD and size > held and not is_filler and not partition.error_code:
                seen = f"{held} of {plural(size, 'byte')}, and no more"
                yield body.violation(f"{at}.records", "a message or batch that is whole", seen)


class RecordsWithoutHighWatermark(BodyRule):
    """Records must come with the high watermark of their partition.

    -1 is legal with an error, if the broker does not know it. A consumer counts its lag by it. Fetches of
    replicas are left out: the leader of a quorum does not know it at first.

    Example: error code 0, records, and high_watermark -1.

    What to do: send the high watermark with every answer without an error.
    """

    code = "FET029"
    name = "no-high-watermark"
    claim = Claim.DIFFERS
    severity = Severity.WARNING
    who = Who.BROKER
    needs = BOTH_FRAMES
    cites = ("spec/000 Fetch API", "org.apache.kafka.common.requests.FetchResponse#INVALID_HIGH_WATERMARK")
    on = (("Fetch", RESPONSE),)
    guard = (All((Below(("high_watermark",), 0), Longer(("records",), 0))),)

    def check(self, body: Body) -> Iterator[Violation]:
        """Yield partitions with records and no error, where a consumer asked."""
        asked = body.other()
        if asked is None or replica_id(asked) != CONSUMER:
            return
        for _, partition, at in body.partitions("responses"):
            high = partition.high_watermark
            if high < 0 and partition.records and not partition.error_code:
                yield body.violation(f"{at}.high_watermark", "0 or more with records", str(high))
