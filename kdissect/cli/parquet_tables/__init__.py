"""Commands that write Parquet tables, `tables` and `pipeline`, and those that look after written ones."""
