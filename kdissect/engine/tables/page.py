"""The tables as Markdown: what `docs/tables.md` has behind its own words."""

from kdissect.engine.tables.all_tables import TABLES, TABLES_VERSION
from kdissect.engine.tables.table import Table

MARK = "<!-- below: printed by `kdissect tables --describe` -->"


def tables_page() -> str:
    """All tables, from the mark on."""
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
