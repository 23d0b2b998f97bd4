"""The Spark form of a table: DDL, which `schema()` of a data source takes, and the JSON of a StructType.

Both are plain values, so that building them does not need Spark.
"""

from typing import Any

from kdissect.engine.tables.shape import Shape, shapes_of
from kdissect.engine.tables.table import Table

# Name in DDL, name in JSON (Spark SQL reference, "Data Types").
_SCALARS = {
    "bool": ("BOOLEAN", "boolean"), "int8": ("TINYINT", "byte"), "int16": ("SMALLINT", "short"),
    "int32": ("INT", "integer"), "int64": ("BIGINT", "long"), "double": ("DOUBLE", "double"),
    "string": ("STRING", "string"), "binary": ("BINARY", "binary"), "date": ("DATE", "date"),
    "timestamp": ("TIMESTAMP", "timestamp"),
}  # fmt: skip
_MAP = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}


def spark_ddl(table: Table) -> str:
    """Return the columns as DDL, in one line."""
    return ", ".join(f"`{shape.name}` {_ddl(shape)}" for shape in shapes_of(table.fields))


def spark_json(table: Table) -> dict[str, Any]:
    """Return the input of `StructType.fromJson`, which needs no session, unlike DDL."""
    return _struct(shapes_of(table.fields))


def _ddl(shape: Shape) -> str:
    if shape.kind == "struct":
        made = f"STRUCT<{', '.join(f'`{field.name}`: {_ddl(field)}' for field in shape.fields)}>"
    else:
        made = "MAP<STRING, BIGINT>" if shape.kind == "map" else _SCALARS[shape.kind][0]
    return f"ARRAY<{made}>" if shape.is_list else made


def _struct(shapes: tuple[Shape, ...]) -> dict[str, Any]:
    fields = [
        {"name": shape.name, "type": _json(shape), "nullable": True, "metadata": {"comment": shape.doc}}
        for shape in shapes
    ]
    return {"type": "struct", "fields": fields}


def _json(shape: Shape) -> Any:
    made: Any
    if shape.kind == "struct":
        made = _struct(shape.fields)
    else:
        made = _MAP if shape.kind == "map" else _SCALARS[shape.kind][1]
    return {"type": "array", "elementType": made, "containsNull": True} if shape.is_list else made
