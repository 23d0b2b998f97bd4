"""Pairs of captures of the same work with one thing changed, for `kdissect diff`."""
