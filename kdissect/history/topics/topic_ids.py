"""Ids of topics, as brokers report them (KIP-516).

An id belongs to one name for ever. A topic that is deleted and created again under its name has a new id, and
the former id does not come back.

Key: capture set and id for names, connection and name for the ids of a name. Order: that of completion. The
ids of a name are compared on one connection, because another broker may be behind, also at the same address.
Ids that are not random are not compared with names: two clusters may have them.
"""

from enum import StrEnum
from typing import ClassVar

from kdissect.decoders.generated.summary import NO_TOPIC_ID
from kdissect.decoders.generated.values import sent, structs
from kdissect.history import api_keys as apis
from kdissect.history.exchange_view import ExchangeView
from kdissect.history.fact import Evidence, Fact
from kdissect.history.state_table import Table
from kdissect.history.topics.topic_names import ANNOUNCING, is_random
from kdissect.session.info import ConnectionInfo

IDS_KEPT = 50_000  # ids of topics, with 300 bytes of state each
NAMES_KEPT = 20_000  # names of topics on open connections, with 400 bytes of state each
IDS_OF_NAME_KEPT = 8
_DESCRIBING = frozenset({apis.METADATA, apis.DESCRIBE_TOPIC_PARTITIONS})
_LISTING = _DESCRIBING | {apis.CREATE_TOPICS}
"""APIs whose responses have topics in one list."""


class TopicIdFact(StrEnum):
    """Facts about ids of topics."""

    OTHER_NAME = "other_name"  # names: the one that the id belongs to, and another
    ID_AGAIN = "id_again"  # ids: the later topic of a name, and a former one that the connection named before


Named = list[tuple[str, bytes, str]]
"""Names of topics, their ids, and the paths of these."""


class TopicIds:
    """Names by id, and ids by connection and name."""

    api_keys: ClassVar[frozenset[int] | None] = frozenset(
        key for key, is_response in ANNOUNCING.items() if is_response and key != apis.DESCRIBE_CLUSTER
    )

    def __init__(self) -> None:
        self.names: Table[tuple[str, bytes], tuple[str, Evidence]] = Table(IDS_KEPT)
        self.ids: Table[str, dict[str, tuple[tuple[bytes, ...], Evidence]]] = Table(NAMES_KEPT + 1)
        """By connection and name: the ids in their order, and what reported the last one first."""
        self._held = 0
        """Names in `ids`."""

    def feed(self, view: ExchangeView) -> list[Fact]:
        """Take the next response that names topics with their ids."""
        facts = []
        for name, topic_id, path in _named(view):
            facts += self._name(view, name, topic_id, path)
            if view.key in _DESCRIBING:
                facts += self._id(view, name, topic_id, path)
        return facts

    def stated(self, view: ExchangeView) -> Named:
        """Return the names and ids of a response, to recognize them when a broker repeats them."""
        return _named(view)

    def stands(self, info: ConnectionInfo, stated: Named) -> bool:
        """Return whether these names and ids differ from no earlier ones."""
        for name, topic_id, _ in stated:
            known = self.names.peek((info.scope, topic_id))
            ids = (self.ids.peek(info.id) or {}).get(name)
            if (known is not None and known[0] != name) or (ids is not None and ids[0][-1] != topic_id):
                return False
        return True

    def repeat(self, info: ConnectionInfo, stated: Named, evidence: Evidence) -> None:
        """Note them for a connection that may name the topics for the first time."""
        for name, topic_id, _ in stated:
            self._first_id(info, name, topic_id, evidence)

    def _name(self, view: ExchangeView, name: str, topic_id: bytes, path: str) -> list[Fact]:
        """Return whether an id has another name now."""
        if not is_random(topic_id):
            return []
        key = view.info.scope, topic_id
        # Not `get`, which keeps ids by their use: a response that repeats another one does not come here.
        first, by = self.names.peek(key) or self.names.put(key, (name, view.evidence))
        if first == name:
            return []
        kind, side = TopicIdFact.OTHER_NAME, "response"
        return [view.fact(kind, key, path, side=side, expected=first, seen=name, earlier=by)]

    def _id(self, view: ExchangeView, name: str, topic_id: bytes, path: str) -> list[Fact]:
        """Return whether a connection names the id of a former topic again."""
        ids, by = self._first_id(view.info, name, topic_id, view.evidence)
        if topic_id == ids[-1]:
            return []
        if topic_id not in ids:
            self.ids.get_or(view.info.id, dict)[name] = (*ids, topic_id)[-IDS_OF_NAME_KEPT:], view.evidence
            return []
        kind, key = TopicIdFact.ID_AGAIN, (view.info.scope, name)
        expected, seen = ids[-1].hex(), topic_id.hex()
        return [view.fact(kind, key, path, side="response", expected=expected, seen=seen, earlier=by)]

    def _first_id(
        self, info: ConnectionInfo, name: str, topic_id: bytes, by: Evidence
    ) -> tuple[tuple[bytes, ...], Evidence]:
        """Return the ids that a connection named for a name: this one if it named none before."""
        names = self.ids.get_or(info.id, dict)
        known = names.get(name)
        if known is None:
            known = names[name] = (topic_id,), by
            self._held += 1
            if self._held > NAMES_KEPT:
                self._forget_oldest()
        return known

    def _forget_oldest(self) -> None:
        """Forget the names of the connection that named topics longest ago, or the first name of the only
        one.
        """
        connection, names = next(self.ids.items())
        if len(self.ids) > 1:
            self._forget(connection)
        else:
            del names[next(iter(names))]
            self._held -= 1

    def _forget(self, connection: str) -> None:
        self._held -= len(self.ids.pop(connection) or ())

    def close(self, info: ConnectionInfo) -> None:
        """Forget a connection that is over."""
        self._forget(info.id)


def _named(view: ExchangeView) -> Named:
    """Return the names and ids of topics in a response."""
    answer = view.response
    if answer is None or _only_validates(view):
        return []
    found = []
    # Metadata of many partitions has one name for each topic: `structs` would yield all partitions, and of
    # CreateTopics all configs.
    listed = ((f"topics[{at}].", topic) for at, topic in enumerate(getattr(answer, "topics", None) or ()))
    for path, topic in listed if view.key in _LISTING else structs(answer):
        name = sent(topic, "topic_name") or sent(topic, "name")
        topic_id = sent(topic, "topic_id", NO_TOPIC_ID)
        if name and topic_id != NO_TOPIC_ID and not sent(topic, "error_code", 0):
            found.append((name, topic_id, f"{path}topic_id"))
    return found


def _only_validates(view: ExchangeView) -> bool:
    """Return whether a CreateTopics may only validate: its response has ids that no topic ever has."""
    return view.key == apis.CREATE_TOPICS and getattr(view.request, "validate_only", True)
