"""The facts of `kdissect producers` as tables."""

from argparse import Namespace
from typing import Any

from kdissect.cli.formats.titled_tables import Tables
from kdissect.cli.output import Output
from kdissect.report.columns.producers import (
    event_columns,
    event_rows,
    producer_columns,
    transaction_columns,
    transaction_rows,
    without_id_columns,
)

Facts = dict[str, Any]


def producer_text(facts: Facts, options: Namespace, output: Output) -> None:
    """Write producers, transactions, what happened to them, and who writes without an id."""
    tables = Tables(options, output)
    tables.table(producer_columns(), facts["producers"])
    tables.section("transactions", transaction_columns(), transaction_rows(facts))
    tables.section("what happened", event_columns(), event_rows(facts))
    tables.section("without a producer id", without_id_columns(), facts["without_id"])
    if facts["forgotten"]:
        tables.line(f"{facts['forgotten']} more are left out: there are more than can be kept", "odd")
