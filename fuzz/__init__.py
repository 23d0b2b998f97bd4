"""Fuzzing of kdissect: mutated inputs by the million, with invariants that hold for all of them.

`python -m fuzz --list` names the targets; docs/fuzzing.md tells what they demand and what they found.
"""
