"""One topic: its batches, who writes and who reads it, who was denied."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from kdissect.decoders.records.batch_layout import CURRENT_MAGIC
from kdissect.decoders.records.reader import read_records
from kdissect.engine.records.acquired import Acquired
from kdissect.model.record_batch import CODEC_NAMES, RecordBatch
from kdissect.sketches.distribution import Distribution, DistributionRow
from kdissect.stats.by_group.group_links import ClientKey
from kdissect.stats.client import Client


class Role(StrEnum):
    """Use of a topic by a client."""

    WRITE = "write"
    READ = "read"
    SHARE = "share"  # read by a share group (KIP-932)
    FOLLOW = "follow"  # read by a broker that replicates it


class Use:
    """Counts of one client, role and topic.

    `requests` counts Produce or Fetch requests that name the topic. `records` are records in batches that the
    broker took, or returned. `unconfirmed` is the part of them without a confirmation (acks=0, no answer
    captured), `refused` counts records in batches that it did not take. Compressed messages of magic 0 and 1
    do not contain the number of their records: `uncounted` counts these messages unless records are read.
    Markers of transactions are no records. `unlogged` counts requests of a request log with records: only
    their size is known, or not even that (`unsized`). Responses to share consumers carry more records than
    the member acquires: `acquired` counts the acquired ones, `acquired_unknown` the records in responses that
    were captured without that part.
    """

    __slots__ = (
        "acquired", "acquired_unknown", "batches", "bytes", "errors", "records", "refused", "requests",
        "unconfirmed", "uncounted", "unlogged", "unsized",
    )  # fmt: skip

    def __init__(self) -> None:
        self.requests = self.batches = self.records = self.bytes = 0
        self.unconfirmed = self.refused = self.uncounted = 0
        self.acquired = self.acquired_unknown = self.unlogged = self.unsized = 0
        self.errors: Counter[str] = Counter()

    def add(self, batch: RecordBatch, records: int | None, confirmed: bool) -> None:
        """Count a batch. `records` is None if they are not counted."""
        self.batches += 1
        self.bytes += batch.size
        if records is None:
            self.uncounted += 1
            return
        self.records += records
        if not confirmed:
            self.unconfirmed += records

    def add_logged(self, size: int | None) -> None:
        """Count records that a request log does not have, of `size` bytes."""
        self.unlogged += 1
        if size is None:
            self.unsized += 1
        else:
            self.bytes += size

    def share(self, batch: RecordBatch, acquired: Acquired, records: int | None) -> None:
        """Count what was acquired of a batch that was added."""
        if batch.is_control:
            return
        found = acquired.count(batch)
        self.acquired += found
        if not acquired.is_whole:
            self.acquired_unknown += max((records or 0) - found, 0)

    def add_sums(
        self,
        requests: int,
        batches: int,
        records: int,
        size: int,
        unconfirmed: int,
        refused: int,
        unlogged: int,
        unsized: int,
    ) -> None:
        """Count many requests and their batches, of `size` bytes."""
        self.requests += requests
        self.batches += batches
        self.records += records
        self.bytes += size
        self.unconfirmed += unconfirmed
        self.refused += refused
        self.unlogged += unlogged
        self.unsized += unsized

    def merge(self, other: Use) -> None:
        """Count everything of another use."""
        for name in self.__slots__:
            if name != "errors":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.errors.update(other.errors)


USERS_KEPT = 200  # of one topic: clients times roles. Later ones count under `OTHERS`
PARTITIONS_KEPT = 10_000  # of one topic, to count them
_DENIED_KEPT = 200  # clients times APIs
OTHERS = Client(None, "(others)", None, "")

UserKey = tuple[Role, Client]


class Topic:
    """Counts of one topic. Batches include written and read batches.

    Sizes of keys and values are counted if records are read (`sizes`).
    """

    __slots__ = (
        "batch_bytes", "batch_records", "codecs", "control_batches", "denied", "key_bytes", "magics",
        "name", "partitions", "readers_of", "topic_id", "users", "value_bytes",
    )  # fmt: skip

    def __init__(self, name: str | None, topic_id: bytes | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions: set[int] = set()
        self.users: dict[UserKey, Use] = {}
        self.readers_of: dict[UserKey, ClientKey] = {}
        """Keys by which a user's groups are found."""
        self.denied: Counter[tuple[Client, str]] = Counter()
        self.codecs: Counter[str] = Counter()
        self.magics: Counter[int] = Counter()
        self.control_batches = 0
        self.batch_bytes = Distribution()
        self.batch_records = Distribution()
        self.key_bytes = Distribution()
        self.value_bytes = Distribution()

    def user(self, role: Role, client: Client, link: ClientKey) -> Use:
        """Return the counts of a client in a role."""
        key = role, client
        found = self.users.get(key)
        if found is None:
            if len(self.users) >= USERS_KEPT:
                key = role, OTHERS
            else:
                self.readers_of[key] = link
            found = self.users.setdefault(key, Use())
        return found

    def seen(self, partition: int | None) -> None:
        """Note a partition."""
        if partition is not None and len(self.partitions) < PARTITIONS_KEPT:
            self.partitions.add(partition)

    def deny(self, client: Client, api: str) -> None:
        """Count a refusal of a client for lack of permission."""
        key = client, api
        if key not in self.denied and len(self.denied) >= _DENIED_KEPT:
            key = OTHERS, api
        self.denied[key] += 1

    def count(self, batch: RecordBatch, sizes: bool) -> int | None:
        """Count a batch that holds records of applications. Return their number, None if it is unknown."""
        if batch.is_control:
            self.control_batches += 1
            return 0
        self.codecs[codec_name(batch.codec)] += 1
        self.magics[batch.magic] += 1
        self.batch_bytes.add(batch.size)
        count = self._sizes(batch) if sizes else batch.count
        if count is not None:
            self.batch_records.add(count)
        return count

    def add_batches(
        self, control: int, count: int, sizes: DistributionRow | None, records: DistributionRow | None
    ) -> None:
        """Count batches of magic 2: the number of control batches, then the other batches, their bytes and
        records.
        """
        self.control_batches += control
        if count:
            self.magics[CURRENT_MAGIC] += count
        for distribution, row in ((self.batch_bytes, sizes), (self.batch_records, records)):
            if row is not None:
                distribution.add_bins(*row)

    def merge(self, other: Topic) -> None:
        """Count everything of another topic, which stays as it is."""
        for partition in sorted(other.partitions):
            self.seen(partition)
        for (role, client), use in other.users.items():
            link = other.readers_of.get((role, client))
            mine = self.users.get((role, OTHERS)) if link is None else self.user(role, client, link)
            if mine is None:
                mine = self.users[role, OTHERS] = Use()
            mine.merge(use)
        for (client, api), attempts in other.denied.items():
            is_kept = (client, api) in self.denied or len(self.denied) < _DENIED_KEPT
            self.denied[(client if is_kept else OTHERS), api] += attempts
        self.codecs.update(other.codecs)
        self.magics.update(other.magics)
        self.control_batches += other.control_batches
        for name in ("batch_bytes", "batch_records", "key_bytes", "value_bytes"):
            getattr(self, name).merge(getattr(other, name))

    def _sizes(self, batch: RecordBatch) -> int:
        records = read_records(batch).records
        for record in records:
            if record.key is not None:
                self.key_bytes.add(len(record.key))
            if record.value is not None:
                self.value_bytes.add(len(record.value))
        return len(records)


def codec_name(codec: int) -> str:
    """Return the name of a codec, or its number if there is no such codec."""
    return CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"codec {codec}"
