"""The filter language: text to a predicate over exchanges. `compile_filter` is the way in."""

from kdissect.query.binding import Context
from kdissect.query.errors import FilterError
from kdissect.query.predicate import Predicate, compile_filter
from kdissect.query.pushdown import Conjunct

__all__ = ["Conjunct", "Context", "FilterError", "Predicate", "compile_filter"]
