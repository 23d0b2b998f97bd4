"""Rules: headers of record batches."""
