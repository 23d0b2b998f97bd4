"""`--clocks-within`: by how much the clocks of captures from several places differ at most."""

from argparse import ArgumentParser, ArgumentTypeError

from kdissect.query.syntax.nodes import Literal
from kdissect.query.values.units import LATENCY


def add_clocks(parser: ArgumentParser) -> None:
    """Add the option; `clocks_within` is in nanoseconds, or None without the option."""
    parser.add_argument("--clocks-within", metavar="TIME", type=_time_span, help=(
        "the clocks of captures from two places differ by at most TIME, such as 5ms, or 0ms if one machine "
        "made both (default: the bound that the packets show)"
    ))  # fmt: skip


def _time_span(text: str) -> int:
    try:
        found = LATENCY.parse(Literal(text, False, 0, 0))
    except ValueError as error:
        raise ArgumentTypeError(str(error).replace("\n", "; ")) from None
    if found < 0:
        raise ArgumentTypeError(f"{text!r} is less than nothing")
    return int(found)
