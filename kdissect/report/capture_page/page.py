"""The page of a capture as one self-contained HTML file: no network, one script of its own, no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from kdissect.engine.times import rfc3339
from kdissect.model.cause import Diagnosis
from kdissect.report.capture_page.facts import API, BROKER, CLIENT, CaptureFacts
from kdissect.report.capture_page.links import LINKS, links_section
from kdissect.report.capture_page.over_time import OVER_TIME, over_time_section
from kdissect.report.capture_page.sortable import sortable_section
from kdissect.report.causes.html import looked_at_section
from kdissect.report.cells import Cell, TableColumn, number_column, text_column, time_column
from kdissect.report.columns.groups import group_columns, member_columns, rows_of
from kdissect.report.columns.topics import topic_columns, user_columns, user_rows
from kdissect.report.columns.traffic import traffic_columns
from kdissect.report.html.causes import CAUSES, causes_section
from kdissect.report.html.markup import Markup
from kdissect.report.html.page import footer, header, page
from kdissect.report.html.quality import quality_section
from kdissect.report.printable import printable
from kdissect.report.text import party_text
from kdissect.report.verdict import Verdict

Facts = dict[str, Any]
_APIS, _CLIENTS, _BROKERS = ("apis", "APIs"), ("clients", "Clients"), ("brokers", "Brokers")
_TOPICS, _USERS = ("topics", "Topics"), ("users", "Topic users")
_GROUPS, _MEMBERS = ("groups", "Groups"), ("members", "Group members")
_FINDINGS, _QUALITY = ("findings", "Findings"), ("quality", "Capture")
_LINKS = (
    CAUSES, LINKS, OVER_TIME, _FINDINGS, _APIS, _CLIENTS, _BROKERS, _TOPICS, _USERS, _GROUPS, _MEMBERS,
    _QUALITY,
)  # fmt: skip
_SEVERITY_STYLES = {"error": "bad", "warning": "odd"}


def capture_html(verdict: Verdict, diagnosis: Diagnosis, facts: CaptureFacts) -> str:
    """Return the whole page. Every text of the wire in it is inert."""
    inputs = " ".join(verdict.files[:1]) + (" ..." if len(verdict.files) > 1 else "")
    sections = [
        causes_section(diagnosis),
        links_section(facts),
        over_time_section(facts.over_time, verdict),
        sortable_section(_FINDINGS, _finding_columns(), _finding_rows(verdict), f"kdissect check {inputs}"),
        *_traffic(facts, inputs),
        *_topics(facts, inputs),
        *_groups(facts, inputs),
        looked_at_section(diagnosis),
        quality_section(verdict),
    ]
    return page(
        header(verdict, diagnosis), sections, footer(verdict), _LINKS, "kdissect: report",
        style=_resource("page.css"), script=_resource("page.js"),
    )  # fmt: skip


@cache
def _resource(name: str) -> Markup:
    return Markup(files("kdissect.report.capture_page").joinpath(name).read_text(encoding="utf-8"))


def _traffic(facts: CaptureFacts, inputs: str) -> Iterator[Markup]:
    tables = ((_APIS, API, facts.apis), (_CLIENTS, CLIENT, facts.clients), (_BROKERS, BROKER, facts.brokers))
    for place, by, counted in tables:
        other = [] if counted["other"] is None else [counted["other"] | {"title": "other", "first": by[0]}]
        command = f"kdissect stats {inputs} --by {','.join(by)}"
        yield sortable_section(place, traffic_columns(by, facts.span_ns), [*counted["rows"], *other], command)


def _topics(facts: CaptureFacts, inputs: str) -> Iterator[Markup]:
    topics = facts.topics
    yield sortable_section(_TOPICS, topic_columns(topics), topics, f"kdissect topics {inputs}")
    users = f"kdissect topics {inputs} --table users"
    yield sortable_section(_USERS, user_columns(topics), user_rows(topics), users)


def _groups(facts: CaptureFacts, inputs: str) -> Iterator[Markup]:
    groups = facts.groups
    yield sortable_section(_GROUPS, group_columns(), groups, f"kdissect groups {inputs}")
    members = f"kdissect groups {inputs} --table members"
    yield sortable_section(_MEMBERS, member_columns(), rows_of(groups, "members"), members)


def _finding_columns() -> list[TableColumn]:
    return [
        TableColumn("severity", lambda row: Cell(row["severity"], _SEVERITY_STYLES.get(row["severity"], ""))),
        text_column("code", "code"),
        text_column("name", "name"),
        text_column("who", "who"),
        text_column("API", "api"),
        text_column("seen", "seen"),
        text_column("expected", "expected"),
        number_column("times", "times"),
        time_column("first", "first"),
    ]


def _finding_rows(verdict: Verdict) -> Iterable[Facts]:
    """Yield a row for each rule and software, as text reports have them."""
    for fold in verdict.folds:
        first = fold.first
        apis = {
            f"{one.place.api} v{one.place.api_version}": None
            for one in (first, *fold.others)
            if one.place.api is not None
        }
        yield {
            "severity": first.severity,
            "code": first.code,
            "name": first.name,
            "who": printable(party_text(first.party)),
            "api": ", ".join(apis),
            "times": fold.times,
            "first": rfc3339(first.place.time_ns),
            "expected": first.expected,
            "seen": first.seen,
        }
