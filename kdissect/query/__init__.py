"""The filter language: text to a predicate over exchanges. `compile_filter` is the way in."""

from kdissect.query.binding import Context
from kdissect.query.predicate import Conjunct, Predicate, compile_filter
from kdissect.query.syntax.filter_errors import FilterError

__all__ = ["Conjunct", "Context", "FilterError", "Predicate", "compile_filter"]
