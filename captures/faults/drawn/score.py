"""Scores `kdissect why` on drawn runs: `python -m captures.faults.drawn.score [FOLDER...]`."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from captures.faults.drawn.clusters import FIRST
from captures.faults.drawn.plan import is_aside
from captures.faults.recording import Recording, Row, injected_in, names_any, page_and_clients, whom_of
from kdissect.causes.general.general_cause import GeneralCause
from kdissect.causes.registry import ALL_CAUSES

RECORDED = Path(__file__).resolve().parent / "recorded"
NO_TRACE: Mapping[str, Mapping[str, str]] = json.loads(RECORDED.with_name("no_trace.json").read_text())
"""Faults that left no trace in the packets, with the reason: by seed and kind."""
GENERAL = frozenset(cause.id for cause in ALL_CAUSES if isinstance(cause, GeneralCause))
_FEW = 3
_WITHOUT_REQUEST = frozenset(
    {"connection-refused", "plaintext-to-tls", "tls-handshake-failed", "tls-to-plaintext"}
)
"""Causes by which a client sends no request."""


class Injected(NamedTuple):
    """One fault of a run: the place of its cause among those of the run; 0: not named.

    `is_reported`: a cause, an effect or a general cause names it or its parties. `no_trace` has the reason
    why no packet shows the fault; empty if one does.
    """

    kind: str
    place: int
    is_reported: bool
    said: tuple[str, ...]
    no_trace: str = ""


class Run(NamedTuple):
    """One run; nothing is injected on a healthy day. `false` are causes that are not true."""

    seed: int
    injected: tuple[Injected, ...]
    false: tuple[str, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was injected."""
        return not self.injected


def scored(one: Recording) -> Run:
    """Ask `why` about a run."""
    page, clients = page_and_clients(one.path)
    return judged(one.injected, page["causes"], clients)


def judged(truth: Row, said: Sequence[Row], clients: Collection[str] | None = None) -> Run:
    """Compare what `why` said with the truth.

    The causes of other faults of the run take no place from a fault, nor do effects and general causes.
    `clients` are the client ids in the capture, if they are known: a fault whose client sent no request left
    no trace, unless the client cannot connect.
    """
    faults = [one for one in truth["injected"] if one["causes"]]
    true = {cause for one in faults for cause in one["causes"]}
    also = {cause for one in faults for cause in one["also"]}
    if not faults:
        return Run(truth["variant"], (), tuple(one["id"] for one in said))
    told = [one for one in said if one["id"] in true or one["id"] not in also | GENERAL]
    ids = tuple(one["id"] for one in told)
    injected = []
    for fault in faults:
        # What other faults of the run caused takes no place from this one.
        others = true - set(fault["causes"])
        mine = [one for one in ids if one not in others]
        place = next((at + 1 for at, one in enumerate(mine) if one in fault["causes"]), 0)
        is_reported = bool(place) or any(_concerns(one, fault) for one in said)
        no_trace = NO_TRACE.get(str(truth["variant"]), {}).get(fault["kind"], "")
        if not is_reported and clients is not None and not _began(fault, clients):
            no_trace = "the client sent no request"
        injected.append(
            Injected(fault["kind"], place, is_reported, tuple(one["id"] for one in said), no_trace)
        )
    false = tuple(one["id"] for one in said if one["id"] not in true | also | GENERAL)
    return Run(truth["variant"], tuple(injected), false)


def _began(fault: Row, clients: Collection[str]) -> bool:
    """Return whether a client of a fault sent a request, or is not to be seen by its id."""
    who = fault["who"]
    named = [who["client_id"]] if "client_id" in who else who.get("client_ids", [])
    return not named or not set(clients).isdisjoint(named) or not _WITHOUT_REQUEST.isdisjoint(fault["causes"])


def _concerns(cause: Row, fault: Row) -> bool:
    """Whether a printed cause is an effect of the fault, has the fault's cause as its effect, or names
    somebody of it in general words.
    """
    if cause["id"] in fault["also"] or any(one["id"] in fault["causes"] for one in cause.get("effects", ())):
        return True
    return cause["id"] in GENERAL and names_any(whom_of(fault), cause)


def table(runs: Iterable[Run]) -> str:
    """Return the shares of the runs in sight and of the runs kept aside."""
    runs = list(runs)
    parts = {
        "in sight": [one for one in runs if not is_aside(one.seed)],
        "kept aside": [one for one in runs if is_aside(one.seed)],
    }
    return "\n".join(line for title, part in parts.items() for line in _lines(title, part))


def _lines(title: str, runs: Sequence[Run]) -> list[str]:
    each = [one for run in runs for one in run.injected]
    seen = [one for one in each if not one.no_trace]
    healthy = [run for run in runs if run.is_healthy]
    with_faults = len(runs) - len(healthy)
    lines = [f"{title}: {len(runs)} runs, {with_faults} with {len(each)} faults, {len(healthy)} healthy days"]
    lines += [
        _share("first", sum(one.place == 1 for one in each), len(each)),
        _share(f"among the first {_FEW}", sum(0 < one.place <= _FEW for one in each), len(each)),
        _share("reported at all", sum(one.is_reported for one in each), len(each)),
        _share("of those that left a trace", sum(one.is_reported for one in seen), len(seen)),
        _share(
            "runs with faults and a false cause",
            sum(bool(one.false) for one in runs if one.injected),
            with_faults,
        ),
        _share("healthy days with a cause", sum(bool(one.false) for one in healthy), len(healthy)),
    ]
    return lines


def _share(what: str, hits: int, of: int) -> str:
    return f"  {what:36}{hits:4} of {of:3}" + (f"  {100 * hits / of:.0f} %" if of else "")


def made_of(there: Sequence[Recording]) -> list[str]:
    """Return how many runs there are of each kind, cluster and so on: of all, since no result is in it."""
    truths = [one.injected for one in there]
    libraries = Counter(library for one in there for library in one.clients)
    kinds = Counter(fault["kind"] for truth in truths for fault in truth["injected"])
    clusters = Counter(truth.get("cluster", FIRST) for truth in truths)
    encrypted = sum(truth.get("is_encrypted", False) for truth in truths)
    return [
        f"{len(truths)} runs, {encrypted} with TLS",
        *(_counted(*each) for each in (("clusters", clusters), ("clients", libraries), ("kinds", kinds))),
    ]


def _counted(title: str, found: Counter[str]) -> str:
    return f"  {title}: " + ", ".join(f"{name} {times}" for name, times in found.most_common())


def misses(runs: Iterable[Run]) -> list[str]:
    """Each fault that is not first, and each false cause; those kept aside only as numbers."""
    lines = []
    for run in runs:
        if is_aside(run.seed):
            continue
        lines += [
            f"{run.seed}: {one.kind}: place {one.place or '-'}: {', '.join(one.said) or 'nothing'}"
            + (f"; no trace: {one.no_trace}" if one.no_trace else "")
            for one in run.injected
            if one.place != 1
        ]
        if run.false:
            lines.append(f"{run.seed}: false: {', '.join(run.false)}")
    return lines


def main() -> int:
    """Print the table of a folder, and the misses in sight."""
    parser = argparse.ArgumentParser(prog="python -m captures.faults.drawn.score", description=__doc__)
    parser.add_argument("folder", nargs="*", type=Path, default=[RECORDED], metavar="FOLDER")
    parser.add_argument("--in-sight", action="store_true", help="leave out the runs that are kept aside")
    options = parser.parse_args()
    there = sorted(
        (one for folder in options.folder for one in injected_in(folder)), key=lambda one: int(one.name)
    )
    wanted = [one for one in there if not (options.in_sight and one.is_aside)]
    if not wanted:
        print(f"no drawn run in {', '.join(map(str, options.folder))}", file=sys.stderr)
        return 2
    runs = [scored(one) for one in wanted]
    print(*made_of(wanted), table(runs), *misses(runs), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
