"""The table of personal data: what `personal-data` prints, for each capture set."""

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.shared_columns import CAPTURE_SET
from kdissect.engine.tables.table import Table


def _clients(name: str, doc: str) -> tuple[RowField, ...]:
    return (
        RowField(name, "list<struct>", f"{doc}, at most 100, the one with most hits first"),
        RowField(f"{name}.client_id", "string", "its client id. Personal data in it appears as its form"),
        RowField(f"{name}.hits", "int64", "hits"),
    )


PERSONAL = Table(
    "personal",
    "One row for each kind of personal data in a field of records, or in client ids and principals: the rows "
    "of `personal-data`, at most 10,000 of a capture set. No row has the data. Made when named.",
    (
        CAPTURE_SET,
        RowField("kind", "string", "kind of personal data, such as `email`"),
        RowField("topic", "string", "topic of the records. Null for client ids and principals"),
        RowField("part", "string", "`key`, `value`, `header`, `client_id` or `principal`"),
        RowField("path", "string", "path of the field. `[]` is any item of a list, `.*` the name of a field"),
        RowField(
            "confidence", "string", "`sure`, `likely` or `possible`: the level that half of the hits reach"
        ),
        RowField("hits", "int64", "hits. A record that was produced and fetched counts twice"),
        RowField("written", "int64", "hits in produced records"),
        RowField("read", "int64", "hits in fetched records"),
        RowField("sure", "int64", "hits of this confidence"),
        RowField("likely", "int64", "the same"),
        RowField("possible", "int64", "the same"),
        RowField("forms", "list<string>", "what the form says, such as `PL PESEL`, the most frequent first"),
        RowField("examples", "list<string>", "forms of the first values: `x` for a letter, `9` for a digit"),
        *_clients("producers", "clients that wrote the records"),
        *_clients("consumers", "clients that read the records"),
        RowField("clients_left_out", "int64", "hits of further clients"),
    ),
    ("capture_set", "kind", "topic", "part", "path"),
    ("capture_set", "topic", "part", "path", "kind"),
)
