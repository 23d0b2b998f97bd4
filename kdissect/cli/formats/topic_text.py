"""The facts of `kdissect topics` as tables."""

from argparse import Namespace
from typing import Any

from kdissect.cli.formats.blind_spots_text import blind_spots_lines
from kdissect.cli.output import Output
from kdissect.cli.tables import Tables
from kdissect.model.wording import plural
from kdissect.report.columns.topics import topic_columns, topic_name, user_columns, user_rows

Facts = dict[str, Any]


def topic_text(facts: Facts, options: Namespace, output: Output) -> None:
    """Write the table of topics, who uses them, and what was not seen."""
    tables = Tables(options, output)
    topics = facts["topics"]
    tables.table(topic_columns(), topics)
    users = list(user_rows(topics))
    if users:
        tables.heading("who")
        tables.table(user_columns(), users)
    unseen = list(blind_spots_lines(facts["not_seen"]))
    unseen += [
        f"  {topic_name(topic)}: the leaders of {plural(topic['leaders_not_captured'], 'partition')}"
        for topic in topics
        if topic["leaders_not_captured"]
    ]
    if any(use["uncounted"] for topic in topics for use in (topic["written"], topic["read"])):
        unseen.append("  how many records compressed batches of old formats hold: --sizes counts them")
    if unseen:
        tables.heading("what the capture does not show")
        for line in unseen:
            tables.line(line)
