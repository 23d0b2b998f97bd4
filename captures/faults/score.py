"""Holds `kdissect why` to what was injected: `python -m captures.faults.score [DIR]`.

Each capture is analysed by itself, and the causes it names are taken in their order. What is `also` true of
an injection is passed over: it counts neither for nor against.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from captures.faults.recording import RECORDED, Row, injected_in, names_any, page_of, whom_of

_FIRST_FEW = 3


class Outcome(NamedTuple):
    """What was said of one capture: `ranks` has the place of each true cause, from 1, or 0 for none.

    `said` are the ids that count, in their order.
    """

    name: str
    variant: int
    causes: tuple[str, ...]
    ranks: tuple[int, ...]
    said: tuple[str, ...]
    names_who: bool | None = None  # of one cause that is named: whether with anybody it was done to

    @property
    def is_first(self) -> bool:
        """Whether the cause stands first; with two, whether one of them does."""
        return 1 in self.ranks

    @property
    def is_among(self) -> bool:
        """Whether every true cause is among the first three."""
        return all(0 < rank <= _FIRST_FEW for rank in self.ranks)

    @property
    def is_named(self) -> bool:
        """Whether every true cause is named at all."""
        return all(self.ranks)


def outcomes(folder: Path, names: Sequence[str] = ()) -> list[Outcome]:
    """Return the result of `why` for each capture of a folder, by name."""
    wanted = [one for one in injected_in(folder) if not names or one.name in names]
    return [placed(one.injected, page_of(one.path)["causes"]) for one in wanted]


def placed(truth: Row, said: Iterable[Row]) -> Outcome:
    """Return the ranks of the true causes among the printed ones."""
    causes, also = tuple(truth["causes"]), truth["also"]
    told = [cause for cause in said if cause["id"] not in also or cause["id"] in causes]
    ids = tuple(cause["id"] for cause in told)
    ranks = tuple(ids.index(cause) + 1 if cause in ids else 0 for cause in causes)
    whom = None
    if len(causes) == 1 and ranks[0]:
        whom = _names(truth, [cause for cause in told if cause["id"] == causes[0]])
    return Outcome(truth["fault"], truth["variant"], causes, ranks, ids, whom)


def _names(truth: Row, told: Sequence[Row]) -> bool | None:
    """Whether somebody of the truth is named; None where the truth has nobody the wire could tell of."""
    whom = [name for one in truth["injected"] for name in whom_of(one)]
    return any(names_any(whom, cause) for cause in told) if whom else None


def table(found: Sequence[Outcome]) -> str:
    """Return a line for each fault, and the shares in all."""
    singles = [one for one in found if len(one.causes) == 1]
    pairs = [one for one in found if len(one.causes) > 1]
    lines = [f"{'fault':40}{'variant: place':20}said first where it is not the cause"]
    lines += [_line(name, [one for one in found if one.name == name]) for name in _each(singles)]
    lines += [_line(name, [one for one in found if one.name == name]) for name in _each(pairs)]
    lines += ["", f"{len(singles)} captures of {len(_each(singles))} causes"]
    lines += [
        _share(f"among the first {_FIRST_FEW}", [one.is_among for one in singles]),
        _share("first", [one.is_first for one in singles]),
        _share("with whom, where named", [one.names_who for one in singles if one.names_who is not None]),
    ]
    if pairs:
        lines += [
            f"{len(pairs)} captures of two causes at once",
            _share("both named", [one.is_named for one in pairs]),
            _share(f"both among the first {_FIRST_FEW}", [one.is_among for one in pairs]),
        ]
    return "\n".join(lines)


def _each(found: Sequence[Outcome]) -> list[str]:
    return sorted({one.name for one in found})


def _line(name: str, found: Sequence[Outcome]) -> str:
    places = ", ".join(f"{one.variant}: {'+'.join(str(rank or '-') for rank in one.ranks)}" for one in found)
    others = dict.fromkeys(one.said[0] if one.said else "nothing" for one in found if not one.is_first)
    return f"{name:40}{places:20}{', '.join(others)}".rstrip()


def _share(what: str, hits: Sequence[bool]) -> str:
    share = f"{100 * sum(hits) / len(hits):.0f} %" if hits else "none"
    return f"  {what:26}{sum(hits):4} of {len(hits):3}  {share}"


def main() -> int:
    """Print the table of a folder."""
    parser = argparse.ArgumentParser(prog="python -m captures.faults.score", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDED, metavar="DIR")
    parser.add_argument("--only", action="append", default=[], metavar="NAME-V", help="these captures")
    options = parser.parse_args()
    found = outcomes(options.folder, options.only)
    if not found:
        print(f"no *.fault.json in {options.folder}", file=sys.stderr)
        return 2
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
