"""The Arrow form of a table. Needs pyarrow (extra `arrow`).

Types are equal to those that Spark derives from `spark_ddl`: a Python data source must return exactly these.
"""

from functools import cache
from typing import Any

import pyarrow as pa

from kdissect.engine.tables.shape import Shape, shapes_of
from kdissect.engine.tables.table import Table

_SCALARS: dict[str, Any] = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "map": pa.map_(pa.string(), pa.int64()),
}  # fmt: skip


@cache  # one a table
def arrow_schema(table: Table) -> Any:
    """Return the schema of all columns."""
    return pa.schema([(shape.name, _type(shape)) for shape in shapes_of(table.fields)])


def _type(shape: Shape) -> Any:
    if shape.kind == "struct":
        made = pa.struct([(field.name, _type(field)) for field in shape.fields])
    else:
        made = _SCALARS[shape.kind]
    return pa.list_(made) if shape.is_list else made
