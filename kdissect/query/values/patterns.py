"""Regular expressions whose cost is bounded.

Python's `re` backtracks: the time for a text that does not match may grow with a power of its length, or
worse. So a pattern is checked before its use:
- A repetition inside a repetition, an alternative inside one, and references to groups are refused: with them
  the time can grow exponentially.
- Consecutive repetitions make it grow with the power of their number. That number is bounded, and the more
  there are, the fewer characters of a text are searched. `.*` at the ends costs no time: it is dropped.
"""

import re
import re._constants as codes
import re._parser as grammar
import warnings
from collections.abc import Callable
from typing import Any

from kdissect.model.limits import in_force

# Characters searched, by the number of consecutive repetitions (the search itself is one, unless the pattern
# begins with ^): at worst some 100 million steps, about a second, for a text made to hurt. A topic has at
# most 249 characters (org.apache.kafka.common.internals.Topic#MAX_NAME_LENGTH).
LOOKED_AT = {0: 65_536, 1: 65_536, 2: 16_384, 3: 1024, 4: 256}
FEW = 16  # a repetition of fewer times more is counted as ways

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def searcher(pattern: str) -> Callable[[str], bool]:
    """Return a test whether a pattern occurs in a text. Raises ValueError with a line for people."""
    most = in_force().pattern_characters
    if len(pattern) > most:
        raise ValueError(f"a pattern has at most {most} characters, not {len(pattern)}")
    try:
        with warnings.catch_warnings():
            # about patterns that later versions of Python may read differently
            warnings.simplefilter("ignore")
            grammar.parse(pattern)
            trimmed = _trimmed(pattern)
            tree = grammar.parse(trimmed)
            compiled = re.compile(trimmed)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"no regular expression: {error}") from None
    limit = LOOKED_AT[_power(tree)]
    search = compiled.search
    return lambda text: search(text if len(text) <= limit else text[:limit]) is not None


def _trimmed(pattern: str) -> str:
    """Remove `.*` at the ends, which has no effect on the pattern's occurrence."""
    if pattern.startswith(".*") and pattern[2:3] not in ("?", "+"):
        pattern = pattern[2:]
    if pattern.endswith(".*") and pattern[-3:-2] != "\\":
        pattern = pattern[:-2]
    return pattern


def _power(tree: Any) -> int:
    """Return the number of consecutive repetitions. Raises ValueError if there are too many."""
    cost = _Cost()
    items = list(tree)
    anchored = bool(items) and items[0][0] is codes.AT and items[0][1] in (
        codes.AT_BEGINNING, codes.AT_BEGINNING_STRING
    )  # fmt: skip
    cost.add(items)
    power = cost.repeats + (not anchored)
    if power > max(LOOKED_AT):
        raise ValueError(
            f"the pattern has {cost.repeats} repetitions: a text could keep it busy for ever\n"
            "begin it with ^, or use fewer of * + {}"
        )
    if cost.ways > in_force().pattern_ways:
        raise ValueError("the pattern has too many optional parts and alternatives")
    return power


class _Cost:
    def __init__(self) -> None:
        self.repeats = 0
        self.ways = 1

    def add(self, items: Any, inside: bool = False) -> None:
        """Count the items of a sequence, `inside` a repetition."""
        for code, argument in items:
            if code in _REPEATS:
                self._repeat(argument, inside)
            elif code is codes.BRANCH:
                self._branch(argument[1], inside)
            elif code in (codes.GROUPREF, codes.GROUPREF_EXISTS, codes.GROUPREF_IGNORE):
                raise ValueError("references to groups are not possible")
            else:
                self._others(code, argument, inside)

    def _others(self, code: Any, argument: Any, inside: bool) -> None:
        if code is codes.SUBPATTERN:
            self.add(argument[3], inside)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            self.add(argument[1], inside)
        elif code is codes.ATOMIC_GROUP:
            self.add(argument, inside)

    def _repeat(self, argument: Any, inside: bool) -> None:
        least, most, items = argument
        varies = most != least
        if inside and varies:
            raise ValueError(
                "a repetition inside a repetition could keep it busy for ever\nrepeat simple parts only"
            )
        if varies and most - least > FEW:
            self.repeats += 1
        elif varies:
            self.ways *= most - least + 1
        self.add(items, inside or most > 1)

    def _branch(self, branches: Any, inside: bool) -> None:
        if inside:
            raise ValueError(
                "alternatives inside a repetition could keep it busy for ever\nuse [abc] for letters"
            )
        self.ways *= len(branches)
        for branch in branches:
            self.add(branch)
