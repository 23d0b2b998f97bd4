"""Names that options ask for (`--topic`, `--group`, `--api` ...): those that occur nowhere are told."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import NamedTuple

# Names that are remembered to tell those that are near, and how many are told.
_NAMES_KEPT = 1000
_NAMES_TOLD = 3
# What a filter asks for: it has no name that others could be near.
EXCHANGE = "exchange of a filter"


class SoughtState(NamedTuple):
    """What an option asks for (`what`: topic, group ...) and did not meet, and the names that there are."""

    option: str
    what: str
    missing: tuple[str, ...]
    names: tuple[str, ...]


class Sought:
    """The names or globs of one option; with `exact` names alone.

    `see()` it every name that occurs, whatever else is asked for.
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
        """This occurs."""
        if not self._missing or not name or name in self._names:
            return
        if len(self._names) < _NAMES_KEPT:
            self._names[name] = None
        for pattern in [pattern for pattern, matches in self._missing.items() if matches(name)]:
            del self._missing[pattern]

    def state(self) -> SoughtState:
        """What is known by now."""
        return SoughtState(self._option, self._what, tuple(self._missing), tuple(self._names))


def seek(options: Namespace, option: str, what: str, wanted: Sequence[str], exact: bool = False) -> Sought:
    """Have the command tell at its end what of `wanted` never occurred."""
    sought = Sought(option, what, wanted, exact)
    sought_by_option: dict[str, Sought] = options.__dict__.setdefault("sought", {})
    sought_by_option[option] = sought  # of several readings the last counts
    return sought


def joined_names(one: Sequence[SoughtState], other: Sequence[SoughtState]) -> tuple[SoughtState, ...]:
    """What two parts of one reading know together."""
    return tuple(
        mine._replace(
            missing=tuple(name for name in mine.missing if name in its.missing),
            names=tuple(dict.fromkeys((*mine.names, *its.names))),
        )
        for mine, its in zip(one, other, strict=True)
    )


def missing_lines(sought: Iterable[SoughtState]) -> Iterator[str]:
    """A line for each name that occurs nowhere, with those that are near."""
    for option, what, missing, names in sought:
        for name in missing:
            others = "" if what == EXCHANGE else f"; {_others(name, what, names)}"
            yield f"{option} {name} {'takes no exchange' if what == EXCHANGE else 'occurs nowhere'}{others}"


def _others(name: str, what: str, names: Sequence[str]) -> str:
    if not names:
        return f"no {what} does"
    near = near_names(name, names, _NAMES_TOLD)
    if near:
        return f"near it: {', '.join(near)}"
    told = sorted(names)[:_NAMES_TOLD]
    more = len(names) - len(told)
    return f"there are {', '.join(told)}" + (f" and {more} more" if more else "")


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Those of the known names that the user may have meant, the nearest first."""
    from difflib import get_close_matches  # start-up: only where a name is wrong

    return get_close_matches(name, list(known), most)
