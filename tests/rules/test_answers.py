"""The table of answers: each row, in each version, with bodies made by its paths.

Whether it says what brokers do is told by real exchanges: `tests/mutation/families/answers.py` breaks those
without knowing the table, and `test_corpus` judges them unchanged.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kdissect.rules.answer_keys import ANSWERS, Answer, Owed, key_fields, paths_in
from kdissect.rules.guards import Fact
from kdissect.rules.judging.body_guards import BodyGuards
from kdissect.schema import citations, protocol_messages
from kdissect.schema.types import Array, Field, Message, Primitive, Struct
from tests.history.talk import Talk
from tests.rules.scripted_connection import ScriptedConnection, judged

FAMILY = {"PAI008", "PAI009", "PAI011", "FET004"}
Fields = dict[str, Any]
KEYS = 2  # entries of each list
# Lists of other shapes on both sides: one entry of each.
ONE_EACH = ("LeaderAndIsr", "StopReplica", "AlterReplicaLogDirs")
STRANGER = 9  # the number of an entry that nobody asked for
VERSIONS = [
    (name, version)
    for name in ANSWERS
    for version in (lambda api: range(api.versions.first, api.versions.last + 1))(
        protocol_messages.api_by_name(name)
    )
]


def test_every_api_has_a_row() -> None:
    assert list(ANSWERS) == [api.name for api in protocol_messages.all_apis()]


@pytest.mark.parametrize("name", ANSWERS)
def test_every_path_leads_somewhere(name: str) -> None:
    api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
    assert api is not None
    versions = range(api.versions.first, api.versions.last + 1)
    for message, paths in ((api.request, answer.asked), (api.response, (*answer.answered, *answer.once))):
        for path in paths:
            assert any(paths_in(message, version, (path,)) for version in versions), path


def test_omissions_are_cited() -> None:
    for name, answer in ANSWERS.items():
        cites = [unless.cite for unless in answer.unless]
        says_more = answer.owed is not Owed.EACH or answer.session or answer.empty_asks_all_until >= 0
        cites += [answer.cite] if says_more else []
        cites += [answer.beside_error] if answer.beside_error else []
        assert [cite for cite in cites if not citations.is_place(cite)] == [], name


# bodies


def filled(kind: Any, version: int, number: int, name: str = "") -> Any:
    """Return a value of a type: key `number` if it is part of a key."""
    if isinstance(kind, Array):
        return []
    if isinstance(kind, Struct):
        return {
            field.name: filled(field.type, version, number, field.name)
            for field in kind.fields
            if version in field.versions and field.tag is None
        }
    if kind is Primitive.STRING:
        return f"k{number}"
    if kind is Primitive.UUID:
        return bytes([1 + number]) * 16
    return b"" if kind in (Primitive.BYTES, Primitive.RECORDS) else kind is not Primitive.BOOL and number


def field_of(struct: Struct, version: int, name: str) -> Field:
    return next(field for field in struct.fields if field.name == name and version in field.versions)


def body(message: Message, version: int, paths: tuple[str, ...], count: int = KEYS) -> Fields:
    """Return a body with `count` entries in each list of a path, numbered from 0."""
    found = clean(filled(message.root, version, 0))
    for levels in paths_in(message, version, paths):
        fill(found, message.root, version, levels, count)
    return found


def fill(value: Fields, struct: Struct, version: int, levels: Any, count: int) -> None:
    level, rest = levels[0], levels[1:]
    for name in level.attributes[:-1]:
        field = field_of(struct, version, name)
        assert isinstance(field.type, Struct)
        value.setdefault(name, {})
        value, struct = value[name], field.type
    field = field_of(struct, version, level.attributes[-1])
    assert isinstance(field.type, Array)
    element = field.type.element
    value[field.name] = rows = [clean(filled(element, version, number)) for number in range(count)]
    for number, row in enumerate(rows):
        for column in level.key:
            for name in column.names:
                kind = field_of(element, version, name).type  # type: ignore[arg-type]
                if isinstance(kind, Array):
                    row[name] = [filled(kind.element, version, number)]
        if rest:
            fill(row, element, version, rest, count)  # type: ignore[arg-type]


def clean(value: Any) -> Any:
    """Without errors."""
    if isinstance(value, dict):
        return {name: 0 if name.endswith("error_code") else clean(item) for name, item in value.items()}
    return value


def innermost(value: Fields, levels: Any) -> list[Any]:
    """Return the last list of a path below its first entries."""
    for level in levels:
        rows: Any = value
        for name in level.attributes:
            rows = rows[name]
        value = rows[0] if rows and isinstance(rows[0], dict) else {}
    return rows  # type: ignore[no-any-return]


def told(name: str, version: int, asked: Fields, answered: Fields) -> set[str]:
    """Return what the family says, with guards; the same must be said without."""
    packets = ScriptedConnection().exchange(name, version, asked, answered).close()
    found, all_ = (
        {f.code for f in judged(packets, guards=guards).findings.all()} for guards in (True, False)
    )
    assert found & FAMILY == all_ & FAMILY
    return found & FAMILY


def exchange(name: str, version: int) -> tuple[Fields, Fields, Any]:
    """Return an exchange with results for all that is asked for, and the path of those."""
    api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
    assert api is not None
    count = 1 if name in ONE_EACH else KEYS
    asked = body(api.request, version, answer.asked, count)
    answered = body(api.response, version, answer.answered or answer.once, count)
    if answer.session:
        asked |= {answer.session: 0} if answer.session in asked else {}
    for unless in answer.unless:
        for side, field in ((asked, unless.asked), (answered, unless.answered)):
            if side.get(field):
                side[field] = None if "cursor" in field else 0
    if name == "Produce":
        asked["acks"] = 1
    levels = paths_in(api.response, version, answer.answered or answer.once)
    return asked, answered, levels


def of_rows(rule: Callable[[Answer], bool]) -> Iterator[tuple[str, int]]:
    for name, version in VERSIONS:
        api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
        assert api is not None
        is_there = paths_in(api.response, version, answer.answered or answer.once)
        is_asked = not answer.asked or paths_in(api.request, version, answer.asked)
        if rule(answer) and is_there and is_asked:
            yield name, version


HELD = list(of_rows(lambda answer: bool(answer.asked)))
ONCE = list(of_rows(lambda answer: not answer.asked and bool(answer.once)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), HELD + ONCE)
def test_what_was_asked_for_and_nothing_else(name: str, version: int) -> None:
    asked, answered, _ = exchange(name, version)
    assert told(name, version, asked, answered) == set()


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), HELD)
def test_a_result_is_missing(name: str, version: int) -> None:
    asked, answered, (levels, *_) = exchange(name, version)
    innermost(answered, levels).pop()
    assert bool(told(name, version, asked, answered)) == (ANSWERS[name].owed is Owed.EACH)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), HELD + ONCE)
def test_a_result_comes_twice(name: str, version: int) -> None:
    asked, answered, (levels, *_) = exchange(name, version)
    rows = innermost(answered, levels)
    rows.append(rows[-1])
    is_told = bool(told(name, version, asked, answered))
    assert is_told or ANSWERS[name].owed is Owed.ANY  # then the keys of results need not be those of entries


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), list(of_rows(lambda answer: bool(answer.once))))
def test_what_stands_once_comes_twice(name: str, version: int) -> None:
    api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
    assert api is not None
    asked, _, _ = exchange(name, version)
    for text in answer.once:
        for levels in paths_in(api.response, version, (text,)):
            # Lists of a level without a key are one list: with one entry no key is there twice.
            count = KEYS if all(level.key for level in levels) else 1
            answered = body(api.response, version, (*answer.answered, text), count)
            before = told(name, version, asked, answered)
            innermost(answered, levels).append(innermost(answered, levels)[-1])
            assert told(name, version, asked, answered) - before


def test_a_number_that_stands_in_several_lists_is_not_marked() -> None:
    """Brokers and partitions have the same numbers, and so have the partitions of two topics."""
    api = protocol_messages.api_by_name("Metadata")
    assert api is not None
    guards = BodyGuards((api.request, 7), (api.response, 7))
    bit = guards.add((Fact.TWICE,), is_response=True)

    def marks(*partitions: int) -> int:
        rows = [{"partition_index": number} for number in partitions]
        topics = [{"name": name, "partitions": rows} for name in "ab"]
        answer = {"brokers": [{"node_id": 0}, {"node_id": 1}], "topics": topics}
        exchange = Talk().ask(3, 7, {"topics": None}, answer)
        assert guards.marks(exchange) == guards.reference_marks(*exchange.bodies(), 0)
        return guards.marks(exchange)

    assert (marks(0, 1), marks(0, 1, *range(2, 9))) == (0, 0)
    assert (marks(0, 1, 0), marks(*range(9), 3)) == (bit, bit)


def test_topics_asked_for_by_name_are_not_marked_for_their_ids() -> None:
    """Clients ask Metadata v12 by name, without ids, and brokers answer with both."""
    api = protocol_messages.api_by_name("Metadata")
    assert api is not None
    guards = BodyGuards((api.request, 12), (api.response, 12))
    bit = guards.add((Fact.OTHER_RESULTS,), is_response=True)

    def marks(asked: str | None, answered: str | None) -> int:
        given = {"name": answered, "topic_id": b"i" * 16}
        exchange = Talk().ask(3, 12, {"topics": [{"name": asked}]}, {"topics": [given]})
        assert guards.marks(exchange) == guards.reference_marks(*exchange.bodies(), 0)
        return guards.marks(exchange)

    assert marks("a", "a") == 0
    assert [marks("a", "b"), marks("a", None), marks(None, "a"), marks(None, None)] == [bit] * 4


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), HELD)
def test_a_result_is_for_something_else(name: str, version: int) -> None:
    api = protocol_messages.api_by_name(name)
    assert api is not None
    asked, answered, (levels, *_) = exchange(name, version)
    if not key_fields(api.response, version):
        return  # by place
    rows = innermost(answered, levels)
    for column in levels[-1].key:
        for key in column.names:
            rows[-1][key] = _another(rows[-1][key])
    assert told(name, version, asked, answered)


def _another(key: Any) -> Any:
    if isinstance(key, list):
        return [{name: _another(item) for name, item in row.items()} for row in key]
    if isinstance(key, str):
        return f"k{STRANGER}"
    return STRANGER if isinstance(key, int) else bytes([STRANGER]) * 16


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "version"), HELD)
def test_an_error_at_the_top_stands_for_all(name: str, version: int) -> None:
    """In the versions that have it."""
    api = protocol_messages.api_by_name(name)
    assert api is not None
    asked, answered, _ = exchange(name, version)
    if "error_code" in answered and name != "FindCoordinator":
        empty = body(api.response, version, ()) | {"error_code": 41}
        assert told(name, version, asked, empty) == set()


# what Apache Kafka leaves out


OMISSIONS = [(name, number) for name, answer in ANSWERS.items() for number in range(len(answer.unless))]


@pytest.mark.parametrize(("name", "number"), OMISSIONS)
def test_a_legal_omission_is_not_told(name: str, number: int) -> None:
    unless = ANSWERS[name].unless[number]
    versions = [version for known, version in HELD if known == name]
    version = max(v for v in versions if v <= unless.empty_until) if unless.empty_until >= 0 else versions[-1]
    asked, answered, (levels, *_) = exchange(name, version)
    if unless.empty_until >= 0:
        answered = answered | {levels[0].attributes[0]: []}
    else:
        innermost(answered, levels).pop()
        assert told(name, version, asked, answered)
        side = asked if unless.asked else answered
        field = unless.asked or unless.answered
        side[field] = {"topic_name": "k0", "partition_index": 0} if "cursor" in field else 1000
    assert told(name, version, asked, answered) == set()


@pytest.mark.parametrize("name", [name for name, answer in ANSWERS.items() if answer.session])
def test_a_session_is_answered_for_other_partitions(name: str) -> None:
    answer = ANSWERS[name]
    version = max(version for known, version in HELD if known == name)
    asked, answered, (levels, *_) = exchange(name, version)
    innermost(answered, levels)[-1][levels[-1].key[0].names[0]] = STRANGER
    assert told(name, version, asked, answered)
    asked[answer.session] = 1
    assert told(name, version, asked, answered) == set()
    rows = innermost(answered, levels)
    rows.append(rows[-1])
    assert told(name, version, asked, answered) == {"PAI011"}


def nullable_lists() -> Iterator[tuple[str, int, bool]]:
    """Yield API, version, and whether null stands for all; else an empty list does."""
    for name, version in HELD:
        api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
        assert api is not None
        path = paths_in(api.request, version, answer.asked)[0]
        field = field_of(api.request.root, version, path[0].attributes[0])
        if version in field.nullable:
            yield name, version, True
        if version <= answer.empty_asks_all_until:
            yield name, version, False


@pytest.mark.parametrize(("name", "version", "is_null"), list(nullable_lists()))
def test_who_asks_for_all_is_given_any(name: str, version: int, is_null: bool) -> None:
    api, answer = protocol_messages.api_by_name(name), ANSWERS[name]
    assert api is not None
    asked, answered, (levels, *_) = exchange(name, version)
    asked[paths_in(api.request, version, answer.asked)[0][0].attributes[0]] = None if is_null else []
    assert told(name, version, asked, answered) == set()
    rows = innermost(answered, levels)
    rows.append(rows[-1])
    is_once = answer.owed is Owed.EACH or paths_in(api.response, version, answer.once)
    assert bool(told(name, version, asked, answered)) == bool(is_once)


def test_what_is_asked_for_twice_is_answered_once_or_twice() -> None:
    asked = {"groups": ["a", "a"]}
    for times, expected in ((1, set()), (2, set()), (3, {"PAI009"})):
        groups = [{"group_id": "a", "members": []}] * times
        assert told("DescribeGroups", 5, asked, {"groups": groups}) == expected


def test_an_error_has_an_entry_of_its_own_where_apache_has_one() -> None:
    asked = {"users": [{"name": "u"}]}
    answered = {"error_code": 31, "results": [{"user": "", "error_code": 31, "credential_infos": []}]}
    assert told("DescribeUserScramCredentials", 0, asked, answered) == set()
    assert told("DescribeUserScramCredentials", 0, asked, answered | {"error_code": 0}) == {"PAI009"}


def test_an_error_above_the_last_list_stands_for_what_is_below() -> None:
    topics = [{"name": "t", "partition_indexes": [0]}]
    asked = {"groups": [{"group_id": "a", "topics": topics}, {"group_id": "b", "topics": None}]}
    answered = [{"group_id": "a", "topics": [], "error_code": 30}, {"group_id": "b", "topics": []}]
    assert told("OffsetFetch", 9, asked, {"groups": answered}) == set()
    assert told("OffsetFetch", 9, asked, {"groups": answered[:1]}) == {"PAI008"}
    assert told("OffsetFetch", 9, asked, {"groups": [answered[0] | {"error_code": 0}, answered[1]]}) == {
        "PAI008"
    }


def test_topics_are_told_by_name_or_id() -> None:
    by_id = {"topics": [{"name": None, "topic_id": bytes([7]) * 16}]}
    given = {"name": "a", "topic_id": bytes([7]) * 16, "partitions": []}
    assert told("Metadata", 12, by_id, {"topics": [given]}) == set()
    assert told("Metadata", 12, by_id, {"topics": [given | {"name": None, "error_code": 100}]}) == set()
    assert told("Metadata", 12, by_id, {"topics": [given | {"topic_id": bytes([8]) * 16}]}) == {"PAI009"}
    by_name = {"topics": [{"name": "a", "topic_id": bytes(16)}]}
    assert told("Metadata", 12, by_name, {"topics": [given]}) == set()
    assert told("Metadata", 12, by_name, {"topics": [given | {"name": "b"}]}) == {"PAI009"}
