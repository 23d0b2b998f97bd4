"""The filter language: text to a predicate over exchanges. `compile_filter` is the way in."""

from kdissect.query.errors import FilterError
from kdissect.query.predicate import Predicate, compile_filter

__all__ = ["FilterError", "Predicate", "compile_filter"]
