"""Rows of the tables, by their sources."""
