"""Mutants of kdissect's own source: how many of them the tests notice (docs/source-mutants.md)."""
