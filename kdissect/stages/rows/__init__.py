"""Rows of the tables, by what they are made of."""
