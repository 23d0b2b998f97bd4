"""Every filter that a view makes of a row is one that compiles, and takes what the row is about."""

from collections.abc import Iterator
from typing import Any

import pytest

from kdissect.api import Dissection
from kdissect.query import Context, compile_filter
from kdissect.session.exchange import Exchange
from kdissect.tui.studies.connections import ConnectionStudy
from kdissect.tui.studies.groups import GroupStudy
from kdissect.tui.studies.producers import ProducerStudy
from kdissect.tui.studies.study import Study, StudyContext, new_study
from kdissect.tui.studies.topics import TopicStudy
from kdissect.tui.studies.traffic import TrafficByClient, TrafficByTopic, TrafficStudy
from kdissect.tui.views import VIEWS as SPECS
from kdissect.tui.views.connections import ConnectionsView
from kdissect.tui.views.groups import GroupsView
from kdissect.tui.views.producers import ProducersView
from kdissect.tui.views.quick_filters import negated, one_of, text_is
from kdissect.tui.views.statistics import StatisticsView, study_of
from kdissect.tui.views.tables import TablesView
from kdissect.tui.views.topics import TopicsView
from tests.support.console import CAPTURES

HOSTILE = 'a"b\\c\n\x1b[31m or api == Fetch'


def context_of(dissection: Dissection, is_filtered: bool = False) -> StudyContext:
    topics = dissection.topics
    return StudyContext(
        topics, is_filtered, topics.topics_of, lambda _id, _ordinal: None, lambda _m: None, []
    )


def studied(capture: str, *kinds: type[Study]) -> tuple[list[Any], list[Exchange], Dissection]:
    dissection = Dissection(str(CAPTURES / capture))
    studies = [kind(context_of(dissection)) for kind in kinds]
    found = []
    for event in dissection.events():
        for study in studies:
            study.add(event)
        if isinstance(event, Exchange):
            found.append(event)
    for study in studies:
        study.finish()
    return [study.result() for study in studies], found, dissection


def taken(expression: str, exchanges: list[Exchange], dissection: Dissection) -> int:
    context = Context(topics_of=dissection.topics.topics_of, file_names=dissection.file_names)
    return sum(map(compile_filter(expression).bind(context), exchanges))


VIEWS: list[tuple[type[TablesView], type[Study], str]] = [
    (ConnectionsView, ConnectionStudy, "kafka44_java_transactions.pcapng"),
    (TopicsView, TopicStudy, "kafka44_java_transactions.pcapng"),
    (TopicsView, TopicStudy, "kafka44_java_errors.pcapng"),
    (GroupsView, GroupStudy, "kafka44_java_groups.pcapng"),
    (GroupsView, GroupStudy, "kafka44_java_kip848.pcapng"),
    (ProducersView, ProducerStudy, "kafka44_java_transactions.pcapng"),
    (StatisticsView, TrafficStudy, "kafka44_java_errors.pcapng"),
]


@pytest.mark.parametrize(("view_class", "study", "capture"), VIEWS)
def test_enter_on_a_row_takes_some_exchanges(
    view_class: type[TablesView], study: type[Study], capture: str
) -> None:
    (facts,), exchanges, dissection = studied(capture, study)
    view = view_class()
    _, rows = view.main(facts)
    assert rows
    expressions = [view.row_filter(row) for row in rows]
    for expression in filter(None, expressions):
        assert taken(expression, exchanges, dissection), expression
    assert sum(one is None for one in expressions) <= 1, "but for the row of all"


@pytest.mark.parametrize(("view_class", "study", "capture"), VIEWS)
def test_cells_make_filters_that_compile(
    view_class: type[TablesView], study: type[Study], capture: str
) -> None:
    (facts,), exchanges, dissection = studied(capture, study)
    view = view_class()
    columns, rows = view.main(facts)
    made = 0
    for row in rows:
        for column in columns:
            maker = view.cell_filters.get(column.title)
            expression = None if maker is None else maker(row)
            if expression is not None:
                made += 1
                some = taken(expression, exchanges, dissection)
                assert taken(negated(expression), exchanges, dissection) == len(exchanges) - some
    assert made or view_class is StatisticsView


def test_titles_of_cell_filters_are_columns() -> None:
    """A filter under a title that no table has would never be reached."""
    for view_class, study, capture in VIEWS[:6]:
        (facts,), _, _ = studied(capture, study)
        view = view_class()
        columns, rows = view.main(facts)
        known = {column.title for column in columns}
        if view_class in (TopicsView, ProducersView):  # others draw on the session for what is below
            known |= {column.title for row in rows for one in view.details(row) for column in one.columns}
        left = set(view.cell_filters) - known
        assert left <= ({"client id", "principal", "topic"} if view_class is GroupsView else set())


def test_hostile_text_stays_a_text() -> None:
    expression = text_is("client_id")({"client_id": HOSTILE})
    assert expression is not None
    assert expression.isprintable()
    dissection = Dissection(str(CAPTURES / "kafka44_java_groups.pcapng"))
    exchanges = list(dissection)
    assert taken(expression, exchanges, dissection) == 0
    exchanges[0].client_id = HOSTILE
    assert taken(expression, exchanges, dissection) == 1
    assert one_of("client_id", [HOSTILE, "b", HOSTILE]) is not None
    assert one_of("client_id", []) is None


def test_a_filter_counts_what_it_takes() -> None:
    """Topics and traffic count what is taken; what tells names and groups is learned from everything."""
    dissection = Dissection(str(CAPTURES / "kafka44_java_transactions.pcapng"))
    study = TrafficStudy(context_of(dissection, True))
    topics = TopicStudy(context_of(dissection, True))
    wanted = 0
    for event in dissection.events():
        if isinstance(event, Exchange):
            study.takes = topics.takes = event.api_key == 0
            wanted += study.takes
        study.add(event)
        topics.add(event)
    assert study.result()["total"]["exchanges"] == wanted > 0
    assert [row["api"] for row in study.result()["rows"]] == ["Produce"]
    assert all(not row["read"]["requests"] for row in topics.result()["topics"])
    assert {row["topic"] for row in topics.result()["topics"]} == {"ledger", "source"}


def test_studies_are_found_by_their_names() -> None:
    dissection = Dissection(str(CAPTURES / "kafka44_java_groups.pcapng"))
    groupings = ("api", "client_id", "topic", "broker", "group", "connection", "software")
    for name in {study for view in SPECS for study in view.studies} | {study_of(by) for by in groupings}:
        assert new_study(name, context_of(dissection)).name == name
    with pytest.raises(KeyError, match="traffic by moon"):
        new_study("traffic by moon", context_of(dissection))


def test_dimensions_tell_rows_apart() -> None:
    (by_client, by_topic), _, _ = studied("kafka44_java_groups.pcapng", TrafficByClient, TrafficByTopic)
    assert "eager-1" in {row["client_id"] for row in by_client["rows"]}
    assert by_topic["by"] == ["topic"]


def pairs() -> Iterator[tuple[str, str]]:
    yield "api == Fetch", "not (api == Fetch)"
    yield "has finding REC001", "not (has finding REC001)"
    yield "(a == 1 or b == 2)", "not (a == 1 or b == 2)"


@pytest.mark.parametrize(("expression", "wanted"), list(pairs()))
def test_negation(expression: str, wanted: str) -> None:
    assert negated(expression) == wanted
