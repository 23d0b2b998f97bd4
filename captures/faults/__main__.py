"""Command line: `python -m captures.faults [NAME...] --variant N`."""

import argparse
import os
import signal
import sys
from pathlib import Path

from captures.faults.drawn.record import record_drawn
from captures.faults.fault import ASIDE, VARIANTS, catalogue
from captures.faults.record import able, record

_SHOWN = [variant for variant in VARIANTS if variant != ASIDE]
RECORDED = Path(__file__).resolve().parent / "recorded"


def main() -> int:
    """Record what the arguments name, all of it without a name; 1 when something failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    options = _parser().parse_args()
    faults = catalogue()
    if options.list:
        for fault in faults.values():
            print(f"{fault.name}\n    {fault.story}")
        return 0
    unknown = [name for name in options.names if name not in faults]
    if unknown:
        print(f"no such fault: {', '.join(unknown)}; --list shows them", file=sys.stderr)
        return 2
    missing = able()
    if missing:
        print(f"no fault can be recorded here: {missing}", file=sys.stderr)
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    if options.random:
        return int(record_drawn(options.random, options.port_base, options.output) > 0)
    wanted = [fault for name, fault in faults.items() if not options.names or name in options.names]
    return int(record(wanted, options.variant or _SHOWN, options.port_base, options.output) > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m captures.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults; all of them without one")
    parser.add_argument("--list", action="store_true", help="name the faults and what is injected")
    parser.add_argument(
        "--variant",
        type=int,
        action="append",
        choices=VARIANTS,
        help=f"which variant, more than once for more; {ASIDE} is kept aside (default: the others)",
    )
    parser.add_argument(
        "--random",
        type=int,
        action="append",
        metavar="SEED",
        help="record the run that a seed draws, more than once for more, instead of named faults",
    )
    parser.add_argument("--output", type=Path, default=RECORDED, help="folder of the captures")
    parser.add_argument(
        "--port-base",
        type=int,
        default=int(os.environ.get("KDISSECT_RECORD_PORTS", "19000")),
        help="first of 100 ports to use",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
