"""Command line: `python -m captures.record NAME... | --list | --all`."""

import argparse
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType

from captures.record import workshop
from captures.record.catalogue import catalogue, story
from captures.record.play import played
from captures.record.sniffer import Sniffer


def main() -> int:
    """Record what the arguments name; the number of scenarios that failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    options = _parser().parse_args()
    scenarios = catalogue()
    if options.list:
        for name, module in scenarios.items():
            print(f"{name}\n    {story(module)}")
        return 0
    names = list(scenarios) if options.all else options.names
    unknown = [name for name in names if name not in scenarios]
    if unknown or not names:
        print(
            f"no such scenario: {', '.join(unknown)}" if unknown else "no scenario named; --list shows them",
            file=sys.stderr,
        )
        return 2
    return sum(not _record(scenarios[name], options) for name in names)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m captures.record", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the scenarios and their stories")
    parser.add_argument("--all", action="store_true", help="record every scenario")
    parser.add_argument("--output", type=Path, default=workshop.CAPTURES, help="folder of the captures")
    parser.add_argument(
        "--port-base",
        type=int,
        default=int(os.environ.get("KDISSECT_RECORD_PORTS", "19000")),
        help="first of 100 ports to use",
    )
    return parser


def _record(module: ModuleType, options: argparse.Namespace) -> bool:
    begin = time.monotonic()
    try:
        packets = _run(module, options.port_base, options.output)
    except workshop.MissingProgramError as missing:
        print(f"{module.NAME}: {missing}", file=sys.stderr)
        return False
    except Exception:
        traceback.print_exc()
        print(f"{module.NAME}: failed", file=sys.stderr)
        return False
    print(f"{module.NAME}: {packets} packets in {time.monotonic() - begin:.0f} s", flush=True)
    return True


def _run(module: ModuleType, base: int, output: Path) -> int:
    raw = workshop.folder("run", f"raw{base}") / "raw.pcapng"
    with played(module, base, output, lambda ports: Sniffer(ports, raw)) as lab:
        packets = lab.sniffer.stop(output / f"{module.NAME}.pcapng")
        lab.truth.write(output / f"{module.NAME}.truth.json")
        if hasattr(module, "after"):
            module.after(lab)
    return packets


if __name__ == "__main__":
    sys.exit(main())
