"""Bytes to values (`compiled`), bytes to spans (`tree_decoder`), both from one schema."""
