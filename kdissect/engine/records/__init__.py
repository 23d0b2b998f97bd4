"""The records of exchanges: records fields, rows, Arrow tables, JSON."""
