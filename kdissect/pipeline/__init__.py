"""Captures larger than one machine: PySpark distributes the analysis, it does not reimplement it.

    import kdissect.pipeline
    spark.dataSource.register(kdissect.pipeline.KdissectDataSource)
    spark.read.format("kdissect").option("table", "exchanges").load("captures/")

Needs the extra `spark`. Importing this package alone does not import it. docs/spark.md has the details.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kdissect.pipeline.spark_source.data_source import KdissectDataSource

__all__ = ["KdissectDataSource"]


def __getattr__(name: str) -> Any:
    if name == "KdissectDataSource":
        from kdissect.pipeline.spark_source.data_source import KdissectDataSource  # needs an extra

        return KdissectDataSource
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
