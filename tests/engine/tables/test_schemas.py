"""The one schema of tables: its Arrow and Spark forms are equal, and its page says what it is."""

from pathlib import Path

import pytest

from kdissect.engine.exchange_rows import RowField
from kdissect.engine.tables.all_tables import MARK, TABLES, tables_page
from kdissect.engine.tables.shape import Shape, shapes_of
from kdissect.engine.tables.spark import spark_ddl, spark_json
from kdissect.engine.tables.table import Table

_PAGE = Path(__file__).parents[3] / "docs" / "tables.md"
_ALL = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)


@_ALL
def test_the_arrow_schema_is_the_one_that_spark_makes_of_the_spark_schema(table: Table) -> None:
    pytest.importorskip("pyspark", reason="needs the extra spark")
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    from kdissect.engine.tables.arrow import arrow_schema

    made = to_arrow_schema(StructType.fromJson(spark_json(table)), timezone="UTC")
    assert made.equals(arrow_schema(table))


@_ALL
def test_ddl_and_json_name_the_same_types(table: Table) -> None:
    types = pytest.importorskip("pyspark.sql.types", reason="needs the extra spark")

    struct = types.StructType.fromJson(spark_json(table))
    made = ", ".join(f"`{field.name}` {_ddl(types, field.dataType)}" for field in struct.fields)
    assert made == spark_ddl(table)


def _ddl(types: object, of: object) -> str:
    """DDL by PySpark's own names for types."""
    name = type(of).__name__
    if name == "ArrayType":
        return f"ARRAY<{_ddl(types, of.elementType)}>"  # type: ignore[attr-defined]
    if name == "MapType":
        return f"MAP<{_ddl(types, of.keyType)}, {_ddl(types, of.valueType)}>"  # type: ignore[attr-defined]
    if name == "StructType":
        inner = ", ".join(f"`{f.name}`: {_ddl(types, f.dataType)}" for f in of.fields)  # type: ignore[attr-defined]
        return f"STRUCT<{inner}>"
    return of.simpleString().upper()  # type: ignore[attr-defined,no-any-return]


@_ALL
def test_identity_and_order_are_columns(table: Table) -> None:
    assert table.has(*table.identity, *table.order)
    assert len(set(table.columns)) == len(table.columns)


@_ALL
def test_every_column_has_a_meaning_and_a_plain_name(table: Table) -> None:
    for field in table.fields:
        assert field.doc
        assert field.name.replace(".", "_").isidentifier(), field.name


def test_a_struct_without_fields_or_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="no fields"):
        shapes_of([RowField("a", "struct", "")])
    with pytest.raises(ValueError, match="tables do not support"):
        shapes_of([RowField("a", "uint8", "")])


def test_names_with_dots_are_put_together() -> None:
    fields = [
        RowField("a", "list<struct>", "x"),
        RowField("a.b", "struct", "y"),
        RowField("a.b.c", "bool", "z"),
    ]
    inner = Shape("b", "struct", False, (Shape("c", "bool", False, (), "z"),), "y")
    assert shapes_of(fields) == (Shape("a", "struct", True, (inner,), "x"),)


def test_the_page_has_the_tables_as_they_are() -> None:
    text = _PAGE.read_text(encoding="utf-8")
    assert text[text.index(MARK) :] == tables_page(), "kdissect tables --describe prints what belongs there"
