"""The connections that an incident concerns, by the parties of its problems.

These are the connections of the clients that problems name (if they have no ids: of their hosts), and those
with exchanges about the named groups, transactional ids and topics. A problem that names none of these
concerns all clients of its brokers. A filter concerns the connections of its exchanges. A mark concerns
everything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from kdissect.query import Context, compile_filter
from kdissect.query.predicate import Predicate
from kdissect.query.syntax.filter_tokens import quoted
from kdissect.recorder.condition import parse_condition
from kdissect.recorder.exchange_condition import ExchangeCondition
from kdissect.recorder.reading import Reading
from kdissect.recorder.symptom import FILTER, MARK, Symptom
from kdissect.session.events import ConnectionClosed, ConnectionOpened
from kdissect.session.exchange import Exchange

_FIELDS = {"group": "group", "id": "transactional_id", "topic": "topic"}
"""Fields of filters, by kinds of parties."""


def concerned(segments: Sequence[str], reading: Reading, symptoms: Collection[Symptom]) -> set[str] | None:
    """Return the ids of the connections; None for all: a problem does not say whom it concerns."""
    parties = [_Parties(one) for one in symptoms]
    if any(one.is_everybody for one in parties):
        return None
    dissection = reading.dissection(segments)
    context = Context(
        topics_of=dissection.topics.topics_of, file_names=dissection.file_names,
        topic_name=dissection.topics.of_records,
    )  # fmt: skip
    tests = [test.bind(context) for one in parties for test in one.filters]
    found: set[str] = set()
    for event in dissection.events():
        if isinstance(event, Exchange):
            results = [test(event) for test in tests]  # all of them: filters may look out for names
            if any(results):
                found.add(event.connection.id)
        elif not isinstance(event, ConnectionOpened) and any(one.has(event) for one in parties):
            found.add(event.connection.id)
    return found


class _Parties:
    """Whom one problem concerns."""

    def __init__(self, symptom: Symptom) -> None:
        self._names: dict[str, set[str]] = {}
        for text in symptom.parties:
            kind, _, name = text.partition(" ")
            self._names.setdefault(kind, set()).add(name)
        self.filters: list[Predicate] = []
        if symptom.kind == FILTER:
            condition = parse_condition(symptom.condition) if symptom.condition else None
            self.filters = [condition.filters[0]] if isinstance(condition, ExchangeCondition) else []
        for kind in self._names.keys() & _FIELDS.keys():
            values = ", ".join(map(quoted, sorted(self._names[kind])))
            self.filters.append(compile_filter(f"{_FIELDS[kind]} in ({values})"))
        self._clients, self._hosts = self._of("client"), self._of("host")
        has_more = self._clients or self._hosts or self.filters
        self._brokers = set() if has_more else self._of("broker")
        self.is_everybody = symptom.kind == MARK or not (has_more or self._brokers)

    def has(self, event: ConnectionClosed) -> bool:
        """Return whether it concerns a connection, by its ends."""
        info = event.connection
        if self._clients & {info.client_id, str(info.client), info.client_text}:
            return True
        if info.client.host in self._hosts and not (self._clients and info.client_id):
            return True
        return bool(self._brokers & {str(info.broker), info.broker_text})

    def _of(self, kind: str) -> Set[str]:
        return self._names.get(kind, set())
