"""Commands that write Parquet tables, `tables` and `pipeline`, and commands that maintain written tables."""
