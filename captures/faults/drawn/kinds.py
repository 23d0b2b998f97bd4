"""All kinds of things that may happen, by name."""

from captures.faults.drawn import first_kinds, more_kinds
from captures.faults.drawn.kind import DAYS, FAULTS

__all__ = ["DAYS", "FAULTS", "first_kinds", "more_kinds"]
