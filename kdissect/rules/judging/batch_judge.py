"""Drives the rules about record batches over the bodies that carry them.

- A batch is cut and its checksum computed once, for the histories as for the rules (`engine.record_sets`).
- Records are built only if they are not canonical (`records.canonical_batch`) or a rule about them needs the
  batch, within the bounds of constants. A batch that was produced is mostly fetched too, byte by byte the
  same but for its offset: it is looked through once.
- One cause, one finding: bytes that do not fit silence the rules about what they would mean, and each rule
  speaks once of a batch, about the first place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kdissect.decoders.payloads.internal_records import record_log
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC, HEADER_V2, LENGTH_AT, MAGIC_AT, OVERHEAD
from kdissect.decoders.records.canonical_batch import is_latest, latest_delta
from kdissect.engine.records.record_sets import FieldBatches, LoneBatch, lone_batch, record_batches
from kdissect.history.sessions.fetch_parts import EPOCHS_FROM
from kdissect.history.topics.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import CODEC_MASK, RecordBatch, RecordFault
from kdissect.rules.judging.batch_facts import (
    EPOCH_HIGHER,
    EVERY_FACT,
    OWN_TOPIC,
    RECORDS,
    SIDES,
    Carriage,
    batch_facts,
    carriage_of,
    header_facts,
)
from kdissect.rules.kinds import BatchRule, BatchSubject, RecordFaultRule, RecordRule
from kdissect.rules.rule import REQUEST, RESPONSE, Rule, Violation
from kdissect.rules.run_coverage.coverage import Coverage
from kdissect.rules.views.batch_view import (
    PRODUCE,
    Batch,
    Carrier,
    Records,
    asked_place,
    asked_places,
    has_canonical_content,
    identity,
    is_beyond,
    places,
)
from kdissect.rules.views.body_view import Body
from kdissect.schema.logs import all_logs
from kdissect.session.exchange import Exchange
from kdissect.session.info import ConnectionInfo

# Batches remembered as canonical, by what their checksum covers; 200 bytes each.
MOST_CANONICAL = 1024
Spoken = Iterator[tuple[Rule, Violation]]
_APIS = (0, 1, 78)  # Produce, Fetch, ShareFetch (org.apache.kafka.common.protocol.ApiKeys)
METADATA = 3  # org.apache.kafka.common.protocol.ApiKeys
# Kafka's own topics, whose records have formats: only answers with their names are read for names of ids.
_OWN_TOPICS = tuple(log.name.encode() for log in all_logs() if log.name.startswith("__"))
_LOGS = frozenset(log.name for log in all_logs())
LOG_TOPICS = [name.encode() for name in _LOGS]
"""Topics whose records have formats."""
CarriageRow = tuple[bool, bool, int, Callable[[int], int]]
"""Whether batches are produced, or fetched by offset, facts that mark one for a rule, facts of attributes."""


def carries_batches(api: str, side: str) -> bool:
    """Return whether bodies of an API's side carry record batches that rules look at."""
    return SIDES.get(api) == side


def tells_own_topics(data: bytes) -> bool:
    """Return whether a topic whose records have formats may be named in a frame."""
    return any(name in data for name in _OWN_TOPICS)


def has_topic_names(api_key: int) -> bool:
    """Return whether names of topics are learned from an API."""
    return api_key == METADATA


class _Rules:
    """The rules about batches of one magic, produced or given out.

    Each rule is paired with the facts that mark a batch for it, as a plain number (None: it receives every
    batch). `facts` mark a batch for one of these rules; `is_open`: one of them receives every batch.
    """

    __slots__ = ("batch_rules", "codes", "facts", "is_open", "owners", "record_rules")

    def __init__(self, rules: Sequence[BatchSubject], guards: bool) -> None:
        self.owners = [rule for rule in rules if isinstance(rule, RecordFaultRule)]
        guarded = [(rule, _mark(rule, guards)) for rule in rules if isinstance(rule, BatchRule | RecordRule)]
        self.batch_rules = [(rule, mark) for rule, mark in guarded if isinstance(rule, BatchRule)]
        self.record_rules = [(rule, mark) for rule, mark in guarded if isinstance(rule, RecordRule)]
        self.codes = tuple(rule.code for rule in rules)
        self.is_open = not guards or any(mark is None for _, mark in guarded)
        self.facts = RECORDS
        for _, mark in guarded:
            self.facts |= mark or 0


def _mark(rule: BatchRule | RecordRule, guards: bool) -> int | None:
    # A flag of an enumeration makes an object with each `&`.
    return None if not guards or rule.guard is None else int(rule.guard)


def _by_kind(rules: Sequence[BatchSubject], guards: bool) -> dict[tuple[bool, int], _Rules]:
    """Return rules for batches that are produced or given out, by magic."""
    return {
        (produced, magic): _Rules(
            [rule for rule in rules if rule.produced in (None, produced) and magic in rule.magics], guards
        )
        for produced in (True, False)
        for magic in range(CURRENT_MAGIC + 1)
    }


class BatchJudge:
    """`faults(body)` returns the rules' findings about the batches in a body. Raises nothing."""

    def __init__(self, rules: Sequence[Rule], coverage: Coverage, *, guards: bool = True) -> None:
        self._coverage = coverage
        self._guards = guards
        self._rules = [rule for rule in rules if isinstance(rule, BatchSubject)]
        self._sort()
        self._names = TopicNames()
        self._canonical: set[tuple[int, ...]] = set()

    def __getstate__(self) -> tuple[Any, ...]:
        """Return the state for a judge in another process, which checks canonical batches once more."""
        return self._coverage, self._rules, self._names, self._guards

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._coverage, self._rules, self._names, self._guards = state
        self._sort()
        self._canonical = set()

    def _sort(self) -> None:
        self._by_kind = _by_kind(self._rules, self._guards)

    def forget_names(self) -> None:
        """Forget what other connections said of topic ids."""
        self._names = TopicNames()

    def faults(self, body: Body) -> Iterable[tuple[Rule, Violation]]:
        """Return the faults of the batches, and their rules."""
        exchange = body.exchange
        carriage = carriage_of(exchange.api_key, body.version, body.side)
        if carriage is None or not self._rules:
            if exchange.api_key == METADATA and tells_own_topics(body.data):
                self._names.learn(exchange)
            return ()
        fields = record_batches(exchange)
        if not fields:
            return ()
        # The topics of a canonical body are the topics of its records fields.
        count = self._unmarked(exchange, carriage, fields, body.other()) if body.is_canonical else None
        if count is None:
            return self._closer(body, carriage, fields)
        self._coverage.look(self._by_kind[carriage.is_produce, CURRENT_MAGIC].codes, count)
        return ()

    def codes_by_api(self) -> dict[int | None, tuple[str, ...]]:
        """Return the rules that look at what `passes` counts, by API."""
        return {key: self._by_kind[key == PRODUCE, CURRENT_MAGIC].codes for key in _APIS}

    def carriage(self, api_key: int, version: int) -> CarriageRow | None:
        """Return the data for the native equivalent of `passes`; None if rules receive all batches."""
        carriage = carriage_of(api_key, version)
        if carriage is None:
            return None
        rules = self._by_kind[carriage.is_produce, CURRENT_MAGIC]
        if rules.is_open:
            return None

        def facts_of(attributes: int) -> int:
            return header_facts(carriage, attributes, 0, 0, 1)

        marking = rules.facts if version >= EPOCHS_FROM else rules.facts & ~EPOCH_HIGHER
        return carriage.is_produce, carriage.is_fetch, marking, facts_of

    @property
    def has_rules(self) -> bool:
        """Whether any rule looks at batches."""
        return bool(self._rules)

    def is_own_topic(self, info: ConnectionInfo, topic_id: bytes) -> bool:
        """Return whether a topic is known as one whose records have formats."""
        return self._names.name(info, topic_id) in _LOGS

    def name_changes(self) -> int:
        """Return how often names of topics changed, on which `is_own_topic` depends."""
        return self._names.changes

    def passes(self, exchange: Exchange, asked: Any) -> int | None:
        """Return the number of batches in an exchange with canonical bodies, if no rule needs any; else None.

        `asked` is the request's value.
        """
        # Hot, once an exchange with records.
        if not self._rules:
            return 0
        carriage = carriage_of(exchange.api_key, exchange.api_version)
        if carriage is None:
            return None
        lone = exchange.batches_cache
        if type(lone) is not LoneBatch:  # histories mostly asked for it
            lone = lone_batch(exchange)
            if lone is None:
                fields = record_batches(exchange)
                return self._unmarked(exchange, carriage, fields, asked) if fields else 0
        return 1 if self._is_unmarked_alone(exchange, carriage, lone, asked) else None

    def _is_unmarked_alone(self, exchange: Exchange, carriage: Carriage, lone: LoneBatch, asked: Any) -> bool:
        rules = self._by_kind[carriage.is_produce, CURRENT_MAGIC]
        name, topic_id, partition, _, start, end, _ = lone.records_field
        offset, _, epoch, _, crc, bits, last_delta, base, latest, _, _, _, count = lone.header
        if rules.is_open or header_facts(carriage, bits, offset, last_delta, count) & rules.facts:
            return False
        if carriage.is_fetch:
            asked_for = asked_place(asked, topic_id or name, partition)
            if asked_for is not None and (offset + last_delta < asked_for[0] or is_beyond(epoch, asked_for)):
                return False
        if topic_id is not None:
            name = self._names.name(exchange.connection, topic_id)
        if name in _LOGS:
            return False
        key = crc, end - start, latest, count
        if not carriage.is_produce and key in self._canonical:
            return True
        if bits & CODEC_MASK:
            is_canonical = has_canonical_content(lone.batch(), dense=carriage.is_produce)
        else:
            at = start + HEADER_V2.size
            delta = latest_delta(count, last_delta, lone.data, at, end, carriage.is_produce)
            is_canonical = delta is not None and is_latest(base + delta, latest, bits, count)
        if is_canonical:
            self._remember(key)
        return is_canonical

    def _remember(self, key: tuple[int, ...]) -> None:
        if len(self._canonical) >= MOST_CANONICAL:
            self._canonical.clear()
        self._canonical.add(key)

    def finds(self, exchange: Exchange) -> bool:
        """Return whether the judge must look closely at the batches of an exchange, whose bodies are
        canonical.
        """
        asked, answered = exchange.bodies()
        assert asked is not None
        body = Body(exchange, REQUEST, asked)
        if exchange.api_key != PRODUCE and answered is not None:
            body = Body(exchange, RESPONSE, answered, body)
        carriage = carriage_of(exchange.api_key, body.version, body.side)
        if carriage is None:
            return True
        rules = self._by_kind[carriage.is_produce, CURRENT_MAGIC]
        for records in self._carried(body, record_batches(exchange)):
            found = records.found.found
            if found.faults or any(batch.magic != CURRENT_MAGIC for batch in found.batches):
                return True
            for index in range(len(found.batches)):
                batch = Batch(records, index)
                if any(True for _ in self._batch(batch, rules, self._facts(batch, carriage))):
                    return True
        return False

    def _unmarked(
        self, exchange: Exchange, carriage: Carriage, fields: Sequence[FieldBatches], asked: Any
    ) -> int | None:
        """Return the number of batches, if no rule needs any."""
        rules = self._by_kind[carriage.is_produce, CURRENT_MAGIC]
        if rules.is_open:
            return None
        first = fields[0].records_field
        asks = asked_places(asked, first.topic_id or first.topic) if carriage.is_fetch else {}
        count = 0
        for records_field, found in fields:
            if found.faults:
                return None
            if not found.batches:
                continue
            count += len(found.batches)
            topic = records_field.topic if records_field.topic_id is None else records_field.topic_id
            if record_log(self._known_name(exchange, topic)) is not None:
                return None
            before, asked_for = None, asks.get((topic, records_field.partition))
            for batch in found.batches:
                if batch.faults or batch_facts(carriage, batch, before, asked_for) & rules.facts:
                    return None
                if not self._has_canonical_records(batch, carriage.is_produce):
                    return None
                before = batch
        return count

    def _closer(self, body: Body, carriage: Carriage, fields: Sequence[FieldBatches]) -> Spoken:
        for records in self._carried(body, fields):
            yield from self._records(records, carriage)

    def _carried(self, body: Body, fields: Sequence[FieldBatches]) -> Iterator[Records]:
        """Yield the fields that have batches or faults."""
        carrier = Carrier(body)
        for found, place in zip(fields, places(body), strict=False):
            if found.found.batches or found.found.faults:
                yield Records(carrier, found, place, self._name(body, place[0]))

    def _name(self, body: Body, topic: Any) -> str | None:
        return self._known_name(body.exchange, identity(topic))

    def _known_name(self, exchange: Exchange, known: object) -> str | None:
        return self._names.name(exchange.connection, known) if isinstance(known, bytes) else str(known)

    def _records(self, records: Records, carriage: Carriage) -> Spoken:
        found = records.found.found
        batches = [Batch(records, index) for index in range(len(found.batches))]
        short = [(batch, fault) for fault in found.faults for batch in batches if _is_short(batch, fault)]
        for batch, _ in short:
            batch.faults = [_short_length(batch)]
        explained = [fault for _, fault in short]
        for fault in found.faults:
            for owner in self._by_kind[records.is_produce, CURRENT_MAGIC].owners:
                if fault.kind in owner.kinds and fault not in explained:
                    self._coverage.exercise(owner.code)
                    yield owner, records.violation(fault, owner.expected)
        for batch in batches:
            rules = self._by_kind[records.is_produce, batch.batch.magic]
            self._coverage.look(rules.codes)
            yield from self._batch(batch, rules, self._facts(batch, carriage))

    def _facts(self, batch: Batch, carriage: Carriage) -> int:
        records, found = batch.records, batch.batch
        if not self._guards:
            return EVERY_FACT
        asked = None
        if carriage.is_fetch:
            asked = records.carrier.asked(records.topic, records.partition.partition_index)
        facts = batch_facts(carriage, found, batch.before, asked)
        if record_log(records.name) is not None:
            facts |= OWN_TOPIC
        if facts & RECORDS or batch.faults:
            return facts | RECORDS
        return facts if self._has_canonical_records(found, carriage.is_produce) else facts | RECORDS

    def _batch(self, batch: Batch, rules: _Rules, facts: int) -> Spoken:
        spoken: set[str] = set()
        shown = [rule for rule, mark in rules.record_rules if mark is None or mark & facts]
        if not batch.faults:
            for rule, mark in rules.batch_rules:
                if rule.code in spoken or not (mark is None or mark & facts):
                    continue
                for fault in rule.check(batch):  # `_first`, without a generator for each rule and batch
                    spoken.update((rule.code, *rule.overrides))
                    yield rule, fault
                    break
            if not (shown or facts & RECORDS):
                return
            batch.read()
        if batch.faults:
            yield from _record_faults(batch, rules.owners, spoken)
        elif batch.content:
            for inner in shown:
                yield from _first(inner, inner.check(batch), spoken)

    def _has_canonical_records(self, found: RecordBatch, is_produce: bool) -> bool:
        """Return whether a magic 2 batch has canonical records."""
        key = found.crc, found.end - found.start, found.max_timestamp, found.count or 0
        if not is_produce and key in self._canonical:
            return True
        is_canonical = has_canonical_content(found, dense=is_produce)
        if is_canonical:
            self._remember(key)
        return is_canonical


def _is_short(batch: Batch, fault: RecordFault) -> bool:
    """Return whether bytes outside of batches end this one: its length is wrong, thus its checksum."""
    end = batch.batch.end
    return not batch.batch.crc_is_right and end <= fault.offset <= end + MAGIC_AT


def _short_length(batch: Batch) -> RecordFault:
    found = batch.batch
    why = f"length {found.size - OVERHEAD} does not end at the start of a batch"
    return RecordFault(AnomalyKind.BAD_BATCH_LENGTH, "length", found.start + LENGTH_AT, why)


def _record_faults(batch: Batch, owners: Sequence[RecordFaultRule], silent: set[str]) -> Spoken:
    """Return bytes that do not fit, by the first rule that reports them: other faults mostly follow."""
    for owner in owners:
        if owner.code in silent:
            return
        for fault in batch.faults:
            if fault.kind in owner.kinds:
                for violation in islice(owner.check(fault, batch), 1):
                    yield owner, violation
                    return


def _first(rule: Rule, faults: Iterable[Violation], spoken: set[str]) -> Spoken:
    """Return a rule's first fault, unless another rule has reported the same cause."""
    if rule.code in spoken:
        return
    for fault in islice(faults, 1):
        spoken.update((rule.code, *rule.overrides))
        yield rule, fault
