"""Drives the rules about record batches over the bodies that carry them.

- A batch is cut and its checksum computed once, for the histories as for the rules (`engine.record_sets`).
- Records are decompressed and read only where a batch is not usual (`canonical_batch`), so many and so
  much at a time as constants say. A batch that was produced is mostly fetched too, byte by byte the same but
  for its offset: it is looked through once.
- One cause, one finding: bytes that do not fit silence the rules about what they would mean, and each rule
  speaks once of a batch, about the first place.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from kdissect.decoders.payloads.internal_records import record_log
from kdissect.decoders.records.batch_layout import CURRENT_MAGIC, HEADER_V2, LENGTH_AT, MAGIC_AT, OVERHEAD
from kdissect.decoders.records.canonical_batch import is_latest, latest_delta
from kdissect.engine.records.record_sets import FieldBatches, LoneBatch, lone_batch, record_batches
from kdissect.history.topic_names import TopicNames
from kdissect.model.anomaly import AnomalyKind
from kdissect.model.record_batch import CODEC_MASK, RecordBatch, RecordFault
from kdissect.rules.coverage import Coverage
from kdissect.rules.judging.canonical_batch import (
    SILENT_OF_PLAIN,
    are_given_plainly,
    are_produced_plainly,
    plain_attributes,
)
from kdissect.rules.kinds import BatchRule, BatchSubject, RecordFaultRule, RecordRule
from kdissect.rules.rule import REQUEST, RESPONSE, Rule, Violation
from kdissect.rules.views.batch_view import (
    PRODUCE,
    Batch,
    Carrier,
    Records,
    asked_offset,
    asked_offsets,
    has_usual_content,
    identity,
    places,
)
from kdissect.rules.views.body_view import Body
from kdissect.schema.logs import all_logs
from kdissect.schema.protocol_messages import api_name
from kdissect.session.exchange import Exchange

# The rules about records that cannot speak of records that are usual (`records.canonical_batch`); others are
# shown all records.
_SILENT_OF_USUAL = frozenset(f"REC{number:03}" for number in range(30, 43))
# Batches remembered as usual, by what their checksum covers; 200 bytes each.
MOST_USUAL = 1024
Spoken = Iterator[tuple[Rule, Violation]]
_USUAL_APIS = (0, 1, 78)  # Produce, Fetch, ShareFetch (org.apache.kafka.common.protocol.ApiKeys)
METADATA = 3  # org.apache.kafka.common.protocol.ApiKeys
SIDES = {"Produce": REQUEST, "Fetch": RESPONSE, "ShareFetch": RESPONSE, "FetchSnapshot": RESPONSE}
# Kafka's own topics, whose records have formats: only answers with their names are read for names of ids.
_OWN_TOPICS = tuple(log.name.encode() for log in all_logs() if log.name.startswith("__"))
_LOGS = frozenset(log.name for log in all_logs())


def carries_batches(api: str, side: str) -> bool:
    """Whether bodies of an API's side carry record batches that rules look at."""
    return SIDES.get(api) == side


def has_topic_names(api_key: int) -> bool:
    """Whether names of topics are learned from an API."""
    return api_key == METADATA


class _Rules:
    """The rules about batches of one magic, produced or given out."""

    __slots__ = ("batch_rules", "codes", "owners", "record_rules")

    def __init__(self, rules: Sequence[BatchSubject]) -> None:
        self.owners = [rule for rule in rules if isinstance(rule, RecordFaultRule)]
        self.batch_rules = [rule for rule in rules if isinstance(rule, BatchRule)]
        self.record_rules = [rule for rule in rules if isinstance(rule, RecordRule)]
        self.codes = tuple(rule.code for rule in rules)


def _by_kind(rules: Sequence[BatchSubject]) -> dict[tuple[bool, int], _Rules]:
    """Rules for batches that are produced or given out, by magic."""
    return {
        (produced, magic): _Rules(
            [rule for rule in rules if rule.produced in (None, produced) and magic in rule.magics]
        )
        for produced in (True, False)
        for magic in range(CURRENT_MAGIC + 1)
    }


def _has_others(rules: Sequence[Rule], of: type[Rule], known: frozenset[str]) -> bool:
    """Whether there is a rule of a kind that is none of those known."""
    return any(isinstance(rule, of) and rule.code not in known for rule in rules)


class BatchJudge:
    """`faults(body)` gives what rules say of the batches in a body. Raises nothing."""

    def __init__(self, rules: Sequence[Rule], coverage: Coverage, *, guards: bool = True) -> None:
        self._coverage = coverage
        self._guards = guards
        self._rules = [rule for rule in rules if isinstance(rule, BatchSubject)]
        self._sort()
        self._names = TopicNames()
        self._usual: set[tuple[int, ...]] = set()

    def __getstate__(self) -> tuple[Any, ...]:
        """What a judge that goes on elsewhere needs: usual batches are looked through once more there."""
        return self._coverage, self._rules, self._names, self._guards

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._coverage, self._rules, self._names, self._guards = state
        self._sort()
        self._usual = set()

    def _sort(self) -> None:
        self._by_kind = _by_kind(self._rules)
        self._looks_at_records = not self._guards or _has_others(self._rules, RecordRule, _SILENT_OF_USUAL)
        self._looks_at_all = self._looks_at_records or _has_others(self._rules, BatchRule, SILENT_OF_PLAIN)

    def forget_names(self) -> None:
        """Forget what other connections said of topic ids."""
        self._names = TopicNames()

    def faults(self, body: Body) -> Iterable[tuple[Rule, Violation]]:
        """What is wrong with the batches, and the rules that say so."""
        exchange = body.exchange
        carriage = _carriage(exchange.api_key, body.side, body.version)
        if carriage is None or not self._rules:
            if exchange.api_key == METADATA and any(name in body.data for name in _OWN_TOPICS):
                self._names.learn(exchange)
            return ()
        sections = record_batches(exchange)
        if not sections:
            return ()
        # Of a plain body the topics are those of the records fields.
        is_quick = body.is_canonical and not self._looks_at_all
        count = self._plain_ones(exchange, carriage, sections, body.other()) if is_quick else None
        if count is None:
            return self._closer(body, sections)
        self._coverage.look(self._by_kind[carriage.is_produce, CURRENT_MAGIC].codes, count)
        return ()

    def usual_codes(self) -> dict[int | None, tuple[str, ...]]:
        """The rules that look at what `usual` counts, by API."""
        return {key: self._by_kind[key == PRODUCE, CURRENT_MAGIC].codes for key in _USUAL_APIS}

    def usual(self, exchange: Exchange, asked: Any) -> int | None:
        """How many batches an exchange with plain bodies has, if `faults` would find nothing; else None.

        `asked` is the request's value.
        """
        # Hot, once an exchange with records.
        if not self._rules:
            return 0
        if self._looks_at_all:
            return None
        carriage = _carriage_of(exchange.api_key, exchange.api_version)
        if carriage is None:
            return None
        lone = exchange.batches_cache
        if type(lone) is not LoneBatch:  # histories mostly asked for it
            lone = lone_batch(exchange)
            if lone is None:
                sections = record_batches(exchange)
                return self._plain_ones(exchange, carriage, sections, asked) if sections else 0
        return 1 if self._is_usual_alone(exchange, carriage, lone, asked) else None

    def _is_usual_alone(self, exchange: Exchange, carriage: "_Carriage", lone: LoneBatch, asked: Any) -> bool:
        is_produce, is_fetch, attributes = carriage
        name, topic_id, partition, _, start, end, _ = lone.records_field
        offset, _, _, _, crc, bits, last_delta, base, latest, _, _, _, count = lone.header
        if bits not in attributes or last_delta < count - 1:
            return False
        if is_produce:
            if offset or count < 1 or last_delta != count - 1:
                return False
        else:
            asked_for = asked_offset(asked, topic_id or name, partition) if is_fetch else None
            if count < 0 or last_delta < 0 or (asked_for is not None and offset + last_delta < asked_for):
                return False
        if topic_id is not None:
            name = self._names.name(exchange.connection, topic_id)
        if name in _LOGS:
            return False
        key = crc, end - start, latest, count
        if not is_produce and key in self._usual:
            return True
        if bits & CODEC_MASK:
            usual = has_usual_content(lone.batch(), dense=is_produce)
        else:
            delta = latest_delta(count, last_delta, lone.data, start + HEADER_V2.size, end, is_produce)
            usual = delta is not None and is_latest(base + delta, latest, bits, count)
        if usual:
            self._remember(key)
        return usual

    def _remember(self, key: tuple[int, ...]) -> None:
        if len(self._usual) >= MOST_USUAL:
            self._usual.clear()
        self._usual.add(key)

    def _plain_ones(
        self, exchange: Exchange, carriage: "_Carriage", sections: Sequence[FieldBatches], asked: Any
    ) -> int | None:
        """How many batches there are, if no rule could speak of any."""
        is_produce, is_fetch, attributes = carriage
        if not attributes:
            return None
        first = sections[0].records_field
        offsets = asked_offsets(asked, first.topic_id or first.topic) if is_fetch else {}
        count = 0
        for section, found in sections:
            batches = found.batches
            if not batches and not found.faults:
                continue
            count += len(batches)
            topic = section.topic if section.topic_id is None else section.topic_id
            if is_produce:
                is_plain = are_produced_plainly(found, attributes)
            else:
                is_plain = are_given_plainly(found, attributes, offsets.get((topic, section.partition)))
            if not is_plain or record_log(self._known_name(exchange, topic)) is not None:
                return None
            for batch in batches:
                if not self._has_usual_records(batch, is_produce):
                    return None
        return count

    def _closer(self, body: Body, sections: Sequence[FieldBatches]) -> Spoken:
        carrier = Carrier(body)
        for found, place in zip(sections, places(body), strict=False):
            if found.found.batches or found.found.faults:
                yield from self._records(Records(carrier, found, place, self._name(body, place[0])))

    def _name(self, body: Body, topic: Any) -> str | None:
        return self._known_name(body.exchange, identity(topic))

    def _known_name(self, exchange: Exchange, known: object) -> str | None:
        return self._names.name(exchange.connection, known) if isinstance(known, bytes) else str(known)

    def _records(self, records: Records) -> Spoken:
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
            yield from self._batch(batch, rules)

    def _batch(self, batch: Batch, rules: _Rules) -> Spoken:
        spoken: set[str] = set()
        if not batch.faults:
            for rule in rules.batch_rules:
                if rule.code in spoken:
                    continue
                for fault in rule.check(batch):  # `_first`, without a generator for each rule and batch
                    spoken.update((rule.code, *rule.overrides))
                    yield rule, fault
                    break
            if self._is_usual(batch.batch, batch.records.name, batch.records.is_produce):
                return
            batch.read()
        if batch.faults:
            yield from _record_faults(batch, rules.owners, spoken)
        elif batch.content:
            for inner in rules.record_rules:
                yield from _first(inner, inner.check(batch), spoken)

    def _is_usual(self, found: RecordBatch, name: str | None, is_produce: bool) -> bool:
        """Whether no rule about records could speak of a batch of a topic."""
        if found.magic != CURRENT_MAGIC or found.is_control or record_log(name) is not None:
            return False
        if self._looks_at_records:
            return False
        return self._has_usual_records(found, is_produce)

    def _has_usual_records(self, found: RecordBatch, is_produce: bool) -> bool:
        """The same of a batch of magic 2 with records of users, whose names and formats nobody knows."""
        key = found.crc, found.end - found.start, found.max_timestamp, found.count or 0
        if not is_produce and key in self._usual:
            return True
        usual = has_usual_content(found, dense=is_produce)
        if usual:
            self._remember(key)
        return usual


class _Carriage(NamedTuple):
    """What is known of the bodies of one kind that carry batches: `plain_attributes` of their version."""

    is_produce: bool
    is_fetch: bool
    attributes: frozenset[int]


@lru_cache(maxsize=1024)  # bodies of the schema that are asked for
def _carriage(api_key: int, side: str, version: int) -> _Carriage | None:
    """None of bodies without batches."""
    name = api_name(api_key)
    if name is None or SIDES.get(name) != side:
        return None
    return _Carriage(name == "Produce", name == "Fetch", plain_attributes(name, version))


@lru_cache(maxsize=1024)  # as above
def _carriage_of(api_key: int | None, version: int | None) -> _Carriage | None:
    """That of the side that carries batches; None of APIs without any."""
    side = SIDES.get("" if api_key is None else api_name(api_key) or "")
    return None if side is None or api_key is None or version is None else _carriage(api_key, side, version)


def _is_short(batch: Batch, fault: RecordFault) -> bool:
    """Whether bytes that are no batch are the rest of this one: its length is wrong, thus its checksum."""
    end = batch.batch.end
    return not batch.batch.crc_is_right and end <= fault.offset <= end + MAGIC_AT


def _short_length(batch: Batch) -> RecordFault:
    found = batch.batch
    why = f"length {found.size - OVERHEAD} ends where no batch begins"
    return RecordFault(AnomalyKind.BAD_BATCH_LENGTH, "length", found.start + LENGTH_AT, why)


def _record_faults(batch: Batch, owners: Sequence[RecordFaultRule], silent: set[str]) -> Spoken:
    """Bytes that do not fit: the first rule with a word has it, as the other faults mostly follow."""
    for owner in owners:
        if owner.code in silent:
            return
        for fault in batch.faults:
            if fault.kind in owner.kinds:
                for violation in islice(owner.check(fault, batch), 1):
                    yield owner, violation
                    return


def _first(rule: Rule, faults: Iterable[Violation], spoken: set[str]) -> Spoken:
    """What a rule says first, unless another has spoken of the same cause."""
    if rule.code in spoken:
        return
    for fault in islice(faults, 1):
        spoken.update((rule.code, *rule.overrides))
        yield rule, fault
