"""The formats of tables, and whether one can be written here."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdissect.model.extras import are_installed, how_to_install

PARQUET, DELTA = "parquet", "delta"


def check_format(parser: ArgumentParser, options: Namespace, wanted: frozenset[str]) -> None:
    """Exit with a usage error if the wanted tables cannot be written in the format that options ask for."""
    if options.format != DELTA:
        return
    if not are_installed("deltalake"):
        parser.error(f"--format delta needs deltalake: {how_to_install('delta')}")
    from kdissect.pipeline.table_files.delta_logs import unfit_partitions  # pyarrow is optional
    from kdissect.query.fields.field_table import table_named  # start-up: the filter language

    written = wanted | {"files"}  # of which `pipeline run` writes the latter always
    tables = [table_named(table, options.fields) for table in written]
    unfit = unfit_partitions(tables, options.partition_by)
    if unfit:
        parser.error(
            f"--format delta cannot partition by {', '.join(unfit)}: only by texts, dates, whole numbers and "
            "truth values"
        )
