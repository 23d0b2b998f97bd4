"""Drives the rules about record batches over the bodies that carry them.

- A batch is cut and its checksum computed once, for the histories as for the rules (`engine.record_sets`).
- Records are decompressed and read only where a batch is not usual (`decoders.records.usual`), so many and so
  much at a time as constants say.
- One cause, one finding: bytes that do not fit silence the rules about what they would mean, and each rule
  speaks once of a batch, about the first place.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from kdissect.engine.record_sets import record_batches
from kdissect.history.topics import TopicNames
from kdissect.rules.batch import Batch, Carrier, Records, identity, places
from kdissect.rules.body import Body
from kdissect.rules.coverage import Coverage
from kdissect.rules.rule import REQUEST, RESPONSE, BatchRule, Fault, RecordFaultRule, RecordRule, Rule
from kdissect.schema.logs import all_logs

Spoken = Iterator[tuple[Rule, Fault]]
METADATA = 3  # org.apache.kafka.common.protocol.ApiKeys
SIDES = {"Produce": REQUEST, "Fetch": RESPONSE, "ShareFetch": RESPONSE, "FetchSnapshot": RESPONSE}
# Kafka's own topics, whose records have formats: only answers with their names are read for names of ids.
_OWN_TOPICS = tuple(log.name.encode() for log in all_logs() if log.name.startswith("__"))


class BatchJudge:
    """`faults(body)` gives what rules say of the batches in a body. Raises nothing."""

    def __init__(self, rules: Sequence[Rule], coverage: Coverage) -> None:
        self._coverage = coverage
        self._owners = [rule for rule in rules if isinstance(rule, RecordFaultRule)]
        self._batch_rules = [rule for rule in rules if isinstance(rule, BatchRule)]
        self._record_rules = [rule for rule in rules if isinstance(rule, RecordRule)]
        self._is_idle = not (self._owners or self._batch_rules or self._record_rules)
        self._names = TopicNames()

    def faults(self, body: Body) -> Spoken:
        """What is wrong with the batches, and the rules that say so."""
        side = SIDES.get(body.api.name)
        if side is None or self._is_idle:
            if body.api.key == METADATA and any(name in body.data for name in _OWN_TOPICS):
                self._names.learn(body.exchange)
            return
        if body.side != side:
            return
        carrier = Carrier(body)
        for found, place in zip(record_batches(body.exchange), places(body), strict=False):
            yield from self._records(Records(carrier, found, place, self._name(body, place[0])))

    def _name(self, body: Body, topic: Any) -> str | None:
        known = identity(topic)
        return self._names.name(body.exchange.connection, known) if isinstance(known, bytes) else str(known)

    def _records(self, records: Records) -> Spoken:
        batches = records.found.found
        for owner in self._owners:
            self._coverage.exercise(owner.code)
        for fault in batches.faults:
            for owner in self._owners:
                if fault.kind in owner.kinds:
                    yield owner, records.fault(fault, owner.expected)
        for index in range(len(batches.batches)):
            yield from self._batch(Batch(records, index))

    def _batch(self, batch: Batch) -> Spoken:
        if batch.faults:
            yield from self._misfits(batch, set())
            return
        spoken: set[str] = set()
        for rule in self._batch_rules:
            yield from self._check(rule, rule.check(batch), spoken)
        usual = batch.is_usual or not batch.read()
        if batch.faults:
            yield from self._misfits(batch, spoken)
            return
        for inner in self._record_rules:
            yield from self._check(inner, () if usual else inner.check(batch), spoken)

    def _misfits(self, batch: Batch, silent: set[str]) -> Spoken:
        """Bytes that do not fit: the first rule with a word has it, as the other faults mostly follow."""
        for owner in self._owners:
            if owner.code in silent:
                return
            for fault in batch.faults:
                if fault.kind in owner.kinds:
                    for told in islice(owner.check(fault, batch), 1):
                        yield owner, told
                        return

    def _check(self, rule: Rule, faults: Iterable[Fault], spoken: set[str]) -> Spoken:
        if rule.code in spoken:
            return
        self._coverage.exercise(rule.code)
        for fault in islice(faults, 1):
            spoken.update((rule.code, *rule.shadows))
            yield rule, fault
