"""All tables by name, and as Markdown: the generated part of `docs/tables.md`."""

from kdissect.engine.tables.capture_tables import ANOMALIES, CONNECTIONS, FILES
from kdissect.engine.tables.cause_tables import CAUSES, STALLS
from kdissect.engine.tables.exchange_tables import BATCHES, EXCHANGES, RECORDS, TOPIC_PARTITIONS
from kdissect.engine.tables.judgement_tables import COVERAGE, FINDINGS
from kdissect.engine.tables.personal_table import PERSONAL
from kdissect.engine.tables.state_tables import GROUPS, PRODUCERS, TOPICS, TRANSACTIONS
from kdissect.engine.tables.table import Table
from kdissect.engine.tables.traffic_tables import LATENCIES, RATES

# Grows by one with the first release that has new columns or tables. Other changes are not allowed
# (`evolution`).
TABLES_VERSION = 4
# That of the first release. What development wrote before has other types, and is not read.
FIRST_VERSION = 3

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        FILES, CONNECTIONS, EXCHANGES, TOPIC_PARTITIONS, BATCHES, RECORDS, ANOMALIES, FINDINGS, COVERAGE,
        LATENCIES, RATES, TOPICS, GROUPS, PRODUCERS, TRANSACTIONS, CAUSES, STALLS,
        PERSONAL,
    )
}  # fmt: skip

MARK = "<!-- below: printed by `kdissect tables --describe` -->"


def tables_page() -> str:
    """Return all tables, from the mark on."""
    sections = "\n".join(_section(table) for table in TABLES.values())
    return f"{MARK}\n\nVersion of the tables: {TABLES_VERSION}.\n\n{sections}"


def _section(table: Table) -> str:
    lines = [
        f"## {table.name}", "", table.doc, "", f"A row is named by {_names(table.identity)}; "
        f"canonical order: {_names(table.order)}.", "", "| column | type | meaning |", "|---|---|---|",
    ]  # fmt: skip
    lines += [f"| `{field.name}` | `{field.type}` | {_cell(field.doc)} |" for field in table.fields]
    return "\n".join(lines) + "\n"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
