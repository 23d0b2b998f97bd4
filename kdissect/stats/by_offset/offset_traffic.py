"""Offsets over time: positions that jump, commits that do, last stable offsets that do not move, records that
were written twice, and offsets without records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from kdissect.decoders.generated.values import sent
from kdissect.decoders.records.batches import first_size
from kdissect.engine.passed_blocks import PassedBlocks
from kdissect.engine.records.logged_sizes import has_unknown_records
from kdissect.engine.records.record_sets import RecordSet, record_sets
from kdissect.engine.times import millis_text
from kdissect.history import api_keys as apis
from kdissect.history.error_codes import NONE
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import TopicNames, tells_names
from kdissect.model.native import native
from kdissect.model.wording import plural
from kdissect.session.events import ConnectionClosed, Event
from kdissect.session.exchange import Exchange, ExchangeKind, State
from kdissect.session.info import ConnectionInfo, KnownIdentities
from kdissect.stats.by_group.group_links import ClientKey, client_key
from kdissect.stats.by_offset.deleted_commits import DELETING, deleted_partitions, of_deleted_groups
from kdissect.stats.by_offset.former_topics import DueCommit, FormerTopics
from kdissect.stats.by_offset.held_offsets import Held, HeldOffsets, Holder, Place
from kdissect.stats.by_offset.position_jumps import EARLIEST, LATEST, Cause, Jump, Partition, PositionJumps
from kdissect.stats.by_offset.written_twice import Twice, WrittenTwice
from kdissect.stats.client import is_commit_from_outside, is_follower, text_of
from kdissect.stats.transfers import topic_key
from kdissect.stats.watermarks import refused_partitions, topic_of

ROWS_KEPT = 10_000  # of each kind, the last ones
COMMITS_KEPT = 100_000  # groups times partitions; 300 bytes each
TRANSACTIONS_KEPT = 10_000  # that commit offsets at a time, with commits of 300 bytes each
MIN_HELD_NS = 1_000_000_000  # no reader waits noticeably for a shorter transaction
_LIST_OFFSETS, _OFFSET_FOR_LEADER_EPOCH = 2, 23  # org.apache.kafka.common.protocol.ApiKeys
_OUT_OF_RANGE = 1  # org.apache.kafka.common.protocol.Errors
# An unknown name, an unknown id, or an id that is not that of the name (Errors#UNKNOWN_TOPIC_OR_PARTITION,
# UNKNOWN_TOPIC_ID and INCONSISTENT_TOPIC_ID).
_NO_TOPIC = frozenset({3, 100, 103})
_READ_COMMITTED = 1  # isolationLevel
_CURRENT_MAGIC = 2
_WATCHED = DELETING | frozenset(
    {
        apis.PRODUCE,
        apis.FETCH,
        apis.END_TXN,
        apis.TXN_OFFSET_COMMIT,
        _LIST_OFFSETS,
        apis.OFFSET_COMMIT,
        apis.OFFSET_FETCH,
        _OFFSET_FOR_LEADER_EPOCH,
    }
)
_TIMES = {EARLIEST: "the earliest offset", LATEST: "the latest offset"}


FORMER = "from a deleted topic of this name"
FROM_OUTSIDE = "by a client that is no member"


class Commit(NamedTuple):
    """An unusual committed offset. `before` is the offset for comparison, None for an offset without an
    earlier captured commit.
    """

    evidence: Evidence
    scope: str
    group: str
    client_id: str | None
    partition: Partition
    what: str
    before: int | None
    after: int


class _TxnCommit(NamedTuple):
    """An offset that a transaction commits."""

    evidence: Evidence
    group: str
    client_id: str | None
    partition: Partition
    offset: int
    is_wanted: bool


class Gap(NamedTuple):
    """Offsets that an answer shows to have no records, from `first` to the one before the next record."""

    evidence: Evidence
    place: Place
    client_id: str | None
    first: int
    end: int


class OffsetTraffic:
    """Collector of offsets: pass every event to `add`, then `finish`. It stores the most recent entries of
    each kind.
    """

    def __init__(self, names: TopicNames) -> None:
        self.jumps: deque[Jump] = deque(maxlen=ROWS_KEPT)
        self.commits: deque[Commit] = deque(maxlen=ROWS_KEPT)
        self.held: deque[Held] = deque(maxlen=ROWS_KEPT)
        self.twice: deque[Twice] = deque(maxlen=ROWS_KEPT)
        self.gaps: Table[tuple[Place, int, int], Gap] = Table(ROWS_KEPT)
        self.count = 0
        """The number of all rows but gaps, including dropped rows."""
        self._names = names
        self._positions = PositionJumps()
        self._offsets = HeldOffsets()
        self._written = WrittenTwice()
        self._committed: Table[tuple[str, str, Partition], int] = Table(COMMITS_KEPT)
        self._ends: Table[Place, int] = Table(COMMITS_KEPT)
        """High watermarks."""
        self._former = FormerTopics()
        self._of_transactions: Table[tuple[str, int], list[_TxnCommit]] = Table(TRANSACTIONS_KEPT)
        """By scope and producer id: what counts once the transaction is committed."""
        self._passed = PassedBlocks(_is_watched)
        self._identities: KnownIdentities | None = None

    def apart(self, scope: str) -> str:
        """Return the cluster of a scope as it is known now, or an empty text if no other cluster was
        captured.
        """
        return "" if self._identities is None else self._identities.apart(scope)

    def count_block(self, block: native.ExchangeBlock, start: int) -> int:
        """Skip exchanges of a block without offsets. Return the next one that is for `add`."""
        return self._passed.count(block, start)

    def add(self, event: Event, wanted: bool = True) -> None:
        """Take the analyzer's next event. Only the facts of wanted exchanges are reported."""
        self._passed.forget(event.connection)
        if isinstance(event, ConnectionClosed):
            self._keep_jumps(self._positions.close(event.connection.id))
            return
        if not isinstance(event, Exchange) or event.kind is not ExchangeKind.KAFKA:
            return
        self._names.pass_by(event)
        if event.api_key not in _WATCHED or event.state is State.ORPHAN_RESPONSE:
            return
        view = ExchangeView(event)
        self._identities = view.info.identities or self._identities
        if view.request is not None:
            self._take(view, wanted)
        event.forget_bodies()

    def _take(self, view: ExchangeView, wanted: bool) -> None:
        if view.key == apis.FETCH:
            if not is_follower(view):
                self._fetch(view, wanted)
        elif view.response is None:
            return
        elif view.key == apis.PRODUCE:
            self._produce(view, wanted)
        elif view.key == apis.OFFSET_COMMIT:
            self._commit(view, wanted)
        elif view.key == apis.END_TXN:
            if not view.response.error_code:
                self._end_transaction(view)
        elif view.key == apis.TXN_OFFSET_COMMIT:
            self._commit_in_transaction(view, wanted)
        elif view.key in DELETING:
            self._forget(view)
        else:
            self._causes(view)

    def finish(self) -> None:
        """End the input."""
        self._keep_jumps(self._positions.finish())
        for held in self._offsets.finish():
            self._keep_held(held)

    def _partition(self, view: ExchangeView, topic: Any, number: int) -> Partition:
        return topic_key(self._names, view.info, topic_of(topic)), number

    def _fetch(self, view: ExchangeView, wanted: bool) -> None:
        request, client, client_id = view.request, client_key(view), view.exchange.client_id
        capture_set, is_committed = (
            view.info.scope,
            sent(request, "isolation_level", 0) == _READ_COMMITTED,
        )
        for topic in request.topics or ():
            for row in topic.partitions or ():
                partition = self._partition(view, topic, row.partition)
                key, offset = (client, partition), row.fetch_offset
                self._keep_jumps(self._positions.fetch(key, view.evidence, offset, view.losses, wanted))
        answer = view.response
        found_in = None if answer is None else self._records(view)
        for topic in sent(answer, "responses", None) or ():
            for row in topic.partitions or ():
                partition = self._partition(view, topic, row.partition_index)
                place = capture_set, *partition
                if row.error_code == _OUT_OF_RANGE:
                    self._positions.cause(
                        (client, partition), Cause(view.evidence, None, "its offset was out of range")
                    )
                if row.error_code in _NO_TOPIC:
                    self._offsets.gone(place, view.evidence.answered_ns)
                if row.error_code or found_in is None:
                    continue
                self._diverges(view, client, partition, row)
                self._tells(view, place, row, client_id, is_committed, wanted)
                records = found_in.get((topic_of(topic), row.partition_index))
                if records is not None:
                    self._brings(view, place, (client, partition), records, wanted)
        if answer is None or has_unknown_records(view.exchange):
            self._positions.unread(view.info.id)

    def _diverges(self, view: ExchangeView, client: ClientKey, partition: Partition, row: Any) -> None:
        diverging = sent(row, "diverging_epoch")
        if diverging is not None and diverging.end_offset >= 0:
            text = "the log was cut there (diverging epoch)"
            self._positions.cause((client, partition), Cause(view.evidence, diverging.end_offset, text))

    def _tells(
        self,
        view: ExchangeView,
        place: Place,
        row: Any,
        client_id: str | None,
        is_committed: bool,
        wanted: bool,
    ) -> None:
        if row.high_watermark >= 0:
            self._ends.put(place, row.high_watermark)
            self._note_end(view, place, row.high_watermark)
        stable = sent(row, "last_stable_offset", -1)
        if stable < 0:
            return
        over = self._offsets.told(place, stable, row.high_watermark, view.evidence)
        if over is not None:
            self._keep_held(over)
        if is_committed:
            self._offsets.waits(place, client_id, wanted)
        elif wanted:
            self._offsets.waits(place, None, wanted)

    def _brings(
        self,
        view: ExchangeView,
        place: Place,
        key: tuple[ClientKey, Partition],
        records: RecordSet,
        wanted: bool,
    ) -> None:
        """Take a client's records: its next position, and offsets without records."""
        batches = records.found.batches
        if not batches and records.found.cut and records.is_whole:
            self._positions.answer_in_part(key, _in_part(records))
        if not batches:
            return
        client_id = view.exchange.client_id
        due = self._positions.behind(key)  # what this Fetch asked for
        for batch in batches:
            if batch.magic >= _CURRENT_MAGIC:
                if due is not None and batch.base_offset > due and wanted:
                    gap = place, due, batch.base_offset
                    if gap not in self.gaps:
                        self.gaps.put(gap, Gap(view.evidence, place, client_id, due, batch.base_offset))
                if batch.is_transactional and not batch.is_control:
                    holder = Holder(batch.producer_id, batch.producer_epoch, None, None, view.evidence)
                    self._offsets.written(place, batch.base_offset, holder)
                self._written.read(place, batch.base_offset, client_id)
            due = batch.last_offset + 1
        if due is not None:
            self._positions.answer(key, due)

    def _records(self, view: ExchangeView) -> dict[Any, RecordSet]:
        found: dict[Any, RecordSet] = {}
        for records in record_sets(view.exchange):
            section = records.records_field
            topic = section.topic if section.topic is not None else section.topic_id
            found[topic, section.partition] = records
        return found

    def _produce(self, view: ExchangeView, wanted: bool) -> None:
        answer = view.response
        records, client_id = self._records(view), view.exchange.client_id
        transactional_id = sent(view.request, "transactional_id")
        name = None if transactional_id is None else text_of(transactional_id)
        for topic in answer.responses or ():
            for row in topic.partition_responses or ():
                written = records.get((topic_of(topic), row.index))
                found = [] if written is None else written.found.batches
                if row.error_code or row.base_offset < 0 or len(found) != 1:
                    continue  # several: only magic 0 and 1
                (batch,) = found
                if batch.magic < _CURRENT_MAGIC or batch.faults:
                    continue
                place = view.info.scope, *self._partition(view, topic, row.index)
                if batch.is_transactional:
                    holder = Holder(batch.producer_id, batch.producer_epoch, name, client_id, view.evidence)
                    self._offsets.written(place, row.base_offset, holder)
                self._note_end(view, place, row.base_offset)  # the end of the log until then
                end = row.base_offset + (batch.count or 0)
                self._ends.put(place, max(end, self._ends.peek(place) or 0))
                pair = self._written.written(place, row.base_offset, batch, client_id, view.evidence)
                if pair is not None and wanted:
                    self.count += 1
                    self.twice.append(pair)

    def _commit(self, view: ExchangeView, wanted: bool) -> None:
        answer = view.response
        info, group = view.info, text_of(view.request.group_id)
        refused = refused_partitions(answer.topics)
        from_outside = is_commit_from_outside(view.request)
        for topic in view.request.topics or ():
            for row in topic.partitions or ():
                partition = self._partition(view, topic, row.partition_index)
                offset, key = row.committed_offset, (info.scope, group, partition)
                is_refused = (topic_of(topic), row.partition_index) in refused
                former = self._former.commit(info.scope, group, *partition, offset, is_refused)
                if is_refused:
                    continue
                before = self._committed.peek(key)
                self._committed.put(key, offset)
                if former is not None:
                    is_unread = self._is_unread(view, partition, offset, former)
                    if is_unread:
                        self._note_commit(view, group, partition, (FORMER, offset, offset), wanted)
                        continue
                    if is_unread is None:
                        due = DueCommit(view.evidence, group, view.exchange.client_id, offset, wanted)
                        self._former.wait((info.scope, *partition), due)
                for what, compared in self._oddities(view, key, offset, before, from_outside):
                    self._note_commit(view, group, partition, (what, compared, offset), wanted)

    def _forget(self, view: ExchangeView) -> None:
        """Forget the committed offsets that a request deletes: a later commit is not compared with them."""
        for group, topic, partition in deleted_partitions(view, self._names):
            self._committed.pop((view.info.scope, group, (topic, partition)))
        for key in of_deleted_groups(view, (key for key, _ in self._committed.items())):
            self._committed.pop(key)

    def _is_unread(self, view: ExchangeView, partition: Partition, offset: int, former: str) -> bool | None:
        """Return whether a client did not read a partition up to an offset, as far as its Fetches were
        captured: the Fetches of the former topic were. None if no Fetch of the partition was captured.
        """
        client = client_key(view)
        behind = self._positions.behind((client, partition))
        if view.losses or behind is not None:
            return not view.losses and behind is not None and behind < offset
        if self._positions.knows((client, partition)):
            return False
        return True if self._positions.knows((client, (former, partition[1]))) else None

    def _commit_in_transaction(self, view: ExchangeView, wanted: bool) -> None:
        """Offsets that a transaction commits: they count once it is committed (KIP-98)."""
        info, request = view.info, view.request
        refused = refused_partitions(view.response.topics)
        pending = self._of_transactions.get_or((info.scope, request.producer_id), list)
        group, client_id = text_of(request.group_id), view.exchange.client_id
        for topic in request.topics or ():
            for row in topic.partitions or ():
                if (topic_of(topic), row.partition_index) not in refused and len(pending) < ROWS_KEPT:
                    partition = self._partition(view, topic, row.partition_index)
                    pending.append(
                        _TxnCommit(view.evidence, group, client_id, partition, row.committed_offset, wanted)
                    )

    def _end_transaction(self, view: ExchangeView) -> None:
        scope, producer_id, is_committed = view.info.scope, view.request.producer_id, view.request.committed
        self._written.end(scope, producer_id, is_committed)
        for one in self._of_transactions.pop((scope, producer_id)) or () if is_committed else ():
            place = scope, *one.partition
            former = self._former.commit(scope, one.group, *one.partition, one.offset, is_refused=False)
            self._committed.put((scope, one.group, one.partition), one.offset)
            if former is not None:
                due = DueCommit(one.evidence, one.group, one.client_id, one.offset, one.is_wanted)
                self._former.wait(place, due)

    def _note_end(self, view: ExchangeView, place: Place, end: int) -> None:
        """Take the end of a partition when a broker took a request."""
        for one in self._former.end(place, end, view.evidence):
            if one.is_wanted:
                self.count += 1
                found = one.group, one.client_id, place[1:], FORMER, one.offset, one.offset
                self.commits.append(Commit(one.evidence, place[0], *found))

    def _note_commit(
        self,
        view: ExchangeView,
        group: str,
        partition: Partition,
        found: tuple[str, int | None, int],
        wanted: bool,
    ) -> None:
        """Keep a commit: what is out of the ordinary, the offset that it is compared with, and its own."""
        if wanted:
            self.count += 1
            client_id = view.exchange.client_id
            self.commits.append(Commit(view.evidence, view.info.scope, group, client_id, partition, *found))

    def _oddities(
        self,
        view: ExchangeView,
        key: tuple[str, str, Partition],
        offset: int,
        before: int | None,
        from_outside: bool,
    ) -> Iterator[tuple[str, int | None]]:
        """Yield the unusual facts of a commit, with the offset for comparison."""
        capture_set, _, partition = key
        reader = client_key(view), partition
        is_reset = from_outside and not self._positions.knows(reader)
        if before is not None and offset < before:
            yield "back" + (f", {FROM_OUTSIDE}" if from_outside else ""), before
        elif is_reset and offset != before:
            yield f"set {FROM_OUTSIDE}", before
        end, behind = self._ends.peek((capture_set, *partition)), self._positions.behind(reader)
        if behind is None or offset == before:
            return  # it reads elsewhere, as far as the capture shows, or reported it before
        if end is not None and offset > end:
            yield "beyond the end", end
        elif offset > max(behind, before or 0) and not self._positions.is_cause(reader, offset):
            yield "beyond what it read", behind

    def _causes(self, view: ExchangeView) -> None:
        """Take answers that direct a client to an offset."""
        client = client_key(view)
        if view.key == _LIST_OFFSETS:
            self._listed(view, client)
        elif view.key == apis.OFFSET_FETCH:
            self._fetched_commits(view, client)
        else:
            for topic in view.response.topics or ():
                for row in topic.partitions or ():
                    if row.error_code == NONE and row.end_offset >= 0:
                        partition = self._partition(view, topic, row.partition)
                        text = "the log ends there in its epoch"
                        self._positions.cause((client, partition), Cause(view.evidence, row.end_offset, text))

    def _listed(self, view: ExchangeView, client: ClientKey) -> None:
        asked = {
            (topic.name, row.partition_index): row.timestamp
            for topic in view.request.topics or ()
            for row in topic.partitions or ()
        }
        for topic in view.response.topics or ():
            for row in topic.partitions or ():
                timestamp = asked.get((topic.name, row.partition_index))
                offsets = sent(row, "old_style_offsets") or [sent(row, "offset", -1)]
                if row.error_code or timestamp is None or offsets[0] < 0:
                    continue
                time = millis_text(timestamp) if timestamp >= 0 else None
                text = _TIMES.get(timestamp) or (
                    f"the offset of {time}" if time else f"the offset of {timestamp}"
                )
                partition = self._partition(view, topic, row.partition_index)
                self._positions.cause((client, partition), Cause(view.evidence, offsets[0], f"to {text}"))

    def _fetched_commits(self, view: ExchangeView, client: ClientKey) -> None:
        answer = view.response
        groups = sent(answer, "groups")
        for group in [answer] if groups is None else groups:
            for topic in group.topics or ():
                for row in topic.partitions or ():
                    if row.error_code:
                        continue
                    partition = self._partition_of_commit(view, topic, row.partition_index)
                    is_none = row.committed_offset < 0
                    text = "its group had committed nothing" if is_none else "to what its group committed"
                    offset = None if is_none else row.committed_offset
                    cause = Cause(view.evidence, offset, text, is_commit=not is_none)
                    self._positions.cause((client, partition), cause)

    def _partition_of_commit(self, view: ExchangeView, topic: Any, number: int) -> Partition:
        name = sent(topic, "name")
        return topic_key(self._names, view.info, topic.topic_id if name is None else text_of(name)), number

    def _keep_jumps(self, jumps: list[Jump]) -> None:
        self.count += len(jumps)
        self.jumps += jumps

    def _keep_held(self, held: Held) -> None:
        if held.is_wanted and held.held_ns >= MIN_HELD_NS:
            self.count += 1
            self.held.append(held)


def _in_part(records: RecordSet) -> str:
    held = records.end - records.records_field.start
    size = first_size(records.frame.data[records.records_field.start : records.end])
    of_size = "" if size is None else f"{held:,} of "
    return f"no whole batch came: {of_size}{plural(held if size is None else size, 'byte', spec=',')}"


def _is_watched(_info: ConnectionInfo, api_key: int, _client_id: str | None) -> bool:
    return api_key in _WATCHED or tells_names(api_key)
