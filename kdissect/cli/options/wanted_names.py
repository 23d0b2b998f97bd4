"""Names in options (`--topic`, `--group`, `--api` ...): the command reports the ones that do not occur."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

# Number of names that are stored to find similar ones, and how many of these are printed.
_NAMES_KEPT = 1000
_NAMES_SHOWN = 3
# The name of a filter's target, which has no similar names.
EXCHANGE = "exchange of a filter"


class WantedState(NamedTuple):
    """State of an option (`what`: topic, group ...): the names that it did not meet, and the
    existing names.
    """

    option: str
    what: str
    missing: tuple[str, ...]
    names: tuple[str, ...]


class WantedNames:
    """The names or globs of one option, with `exact` only names.

    `see()` it every name that occurs, whatever other options say.
    """

    def __init__(self, option: str, what: str, wanted: Sequence[str], exact: bool = False) -> None:
        self._option = option
        self._what = what
        pattern_of = re.escape if exact else translate
        self._missing = {name: re.compile(pattern_of(name)).fullmatch for name in wanted}
        self._names: dict[str, None] = {}

    @property
    def is_met(self) -> bool:
        """Whether all of them occur: nothing need be seen any more."""
        return not self._missing

    def see(self, name: str | None) -> None:
        """Note that a name occurs."""
        if not self._missing or not name or name in self._names:
            return
        if len(self._names) < _NAMES_KEPT:
            self._names[name] = None
        for pattern in [pattern for pattern, matches in self._missing.items() if matches(name)]:
            del self._missing[pattern]

    def state(self) -> WantedState:
        """Return the current state."""
        return WantedState(self._option, self._what, tuple(self._missing), tuple(self._names))


def watch_for(
    options: Namespace, option: str, what: str, wanted: Sequence[str], exact: bool = False
) -> WantedNames:
    """Have the command say at its end what of `wanted` never occurred."""
    found = WantedNames(option, what, wanted, exact)
    wanted_by_option: dict[str, WantedNames] = options.__dict__.setdefault("wanted_names", {})
    wanted_by_option[option] = found  # of several readings the last counts
    return found


def joined_names(one: Sequence[WantedState], other: Sequence[WantedState]) -> tuple[WantedState, ...]:
    """Return the combined state of two parts of one reading."""
    return tuple(
        mine._replace(
            missing=tuple(name for name in mine.missing if name in its.missing),
            names=tuple(dict.fromkeys((*mine.names, *its.names))),
        )
        for mine, its in zip(one, other, strict=True)
    )


def missing_lines(found: Iterable[WantedState]) -> Iterator[str]:
    """Yield a line for each name that does not occur, with similar names."""
    for option, what, missing, names in found:
        for name in missing:
            others = "" if what == EXCHANGE else f"; {_others(name, what, names)}"
            yield f"{option} {name} {'takes no exchange' if what == EXCHANGE else 'occurs nowhere'}{others}"


def _others(name: str, what: str, names: Sequence[str]) -> str:
    if not names:
        return f"no {what} does"
    near = near_names(name, names, _NAMES_SHOWN)
    if near:
        return f"near it: {', '.join(near)}"
    shown = sorted(names)[:_NAMES_SHOWN]
    more = len(names) - len(shown)
    return f"there are {', '.join(shown)}" + (f" and {more} more" if more else "")


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that the user may have meant, the nearest first."""
    from difflib import get_close_matches  # start-up: only where a name is wrong

    return get_close_matches(name, list(known), most)
