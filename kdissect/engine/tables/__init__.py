"""The tables of a pipeline run: their columns, once, for Parquet, Arrow, Spark and JSON."""
