"""Faults that rules tell of, played to real software: `python -m captures.replay`."""
