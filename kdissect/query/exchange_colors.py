"""Coloring rules over exchanges (`kdissect.config.coloring`): which colour an exchange has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kdissect.config.coloring import KEY, parse_coloring
from kdissect.config.read import ConfigFile
from kdissect.query import Context, FilterError, Predicate, compile_filter
from kdissect.session.exchange import Exchange

CompiledRules = Sequence[tuple[Predicate, str]]
"""Filters and colours, in the order in which they count."""

ColorOf = Callable[[Exchange], str]
"""The colour of an exchange, empty for none."""


def compile_rules(file: ConfigFile) -> CompiledRules:
    """Compile the rules of a file. Raises ConfigError, which names the line of a filter that is wrong."""
    found = []
    for at, rule in enumerate(parse_coloring(file)):
        where = (KEY, at, "filter")
        try:
            predicate = compile_filter(rule.filter)
        except FilterError as error:
            raise file.error(where, f"coloring rule {rule.name!r}: {error}") from None
        if predicate.needs_findings or predicate.needs_all:
            why = "a filter that asks for findings or numbers does not apply to one exchange alone"
            raise file.error(where, f"coloring rule {rule.name!r}: {why}")
        found.append((predicate, rule.color))
    return found


def color_of(rules: CompiledRules, context: Context) -> ColorOf:
    """Return the function that chooses the colour, by the first rule that holds."""
    tests = [(predicate.bind(context), color) for predicate, color in rules]
    return lambda exchange: next((color for test, color in tests if test(exchange)), "")
