"""Tests real brokers: `python -m captures.conform [BROKER...]`; with `--faults [RULE...]` a faulty one.

Each broker is started, and `kdissect conform broker --destructive` runs against it. With
`--clients [NAME...]`, client programs and known bugs of old releases are tested with
`kdissect conform client` instead. JSON reports are kept in the workshop. Each part of `docs/matrix.md` is
written from the reports of all that it is about, so that one can be tested again. A part without a report of
each stays as it is.
"""

import json
import os
import signal
import sys
from argparse import ArgumentParser
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from captures.conform.brokers import BROKERS
from captures.conform.client_tables import client_part
from captures.conform.clients import PROGRAMS, tested_program
from captures.conform.known_bugs import BUGS, played_bug
from captures.conform.matrix import FAULTS, PAGE, broker_part, fault_part, parts_of
from captures.conform.measured import measured_report
from captures.conform.played_faults import play_all
from captures.record import workshop
from captures.record.command import record_each

_REPORTS = workshop.folder("conform")
CLIENTS = (*PROGRAMS, *BUGS)


def main() -> int:
    """Test the brokers named, all of them without a name. The exit code is 1 if a run failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped on the way out
    parser = ArgumentParser(prog="python -m captures.conform", description=__doc__)
    parser.add_argument("brokers", nargs="*", metavar="BROKER", help=f"of {', '.join(BROKERS)}")
    parser.add_argument(
        "--faults",
        nargs="*",
        metavar="RULE",
        help="play the faults of replays instead, those of the rules named",
    )
    parser.add_argument(
        "--clients",
        nargs="*",
        metavar="NAME",
        help=f"test clients instead, those named of {', '.join(CLIENTS)}",
    )
    ports = int(os.environ.get("KDISSECT_RECORD_PORTS", "19000"))
    parser.add_argument("--port-base", type=int, default=ports, help="first of 100 ports to use")
    options = parser.parse_args()
    if options.faults is not None:
        _keep(play_all(options.port_base, options.faults))
        code = 0
    elif options.clients is not None:
        code = record_each(options.clients or CLIENTS, _client)
    else:
        code = record_each(options.brokers or BROKERS, lambda name: _tested(name, options.port_base))
    _write_page()
    return code


def _keep(played: list[dict[str, Any]]) -> None:
    """Write the rows of faults that were played in the place of the rows before."""
    path = _report(FAULTS)
    rows = json.loads(path.read_text()) if path.exists() else []
    by_fault = {(row["rule"], row["says"]): row for row in [*rows, *played]}
    path.write_text(json.dumps(list(by_fault.values()), indent=1) + "\n")


def _report(name: str) -> Path:
    return _REPORTS / f"{name}.json"


def _tested(name: str, base: int) -> str:
    """Run a broker and the suite. Returns what came of it."""
    target = _report(name)
    with ExitStack() as held:
        address = held.enter_context(BROKERS[name].run(base))
        capture = target.with_suffix(".pcapng")
        report = measured_report(["broker", address, "--destructive", "--capture", str(capture)], target)
    target.write_text(json.dumps(report) + "\n")
    run = report["run"]
    return f"exit code {run['code']}, {run['seconds']} s, {run['mebibytes']} MiB"


def _client(name: str) -> str:
    """Test a client program, or play a known bug. Returns what came of it."""
    found = played_bug(name) if name in BUGS else tested_program(name)
    _report(name).write_text(json.dumps(found) + "\n")
    if name in BUGS:
        return f"{found['old']['result']} before, {found['new']['result']} after"
    results = Counter(row["result"] for row in found["situations"])
    return ", ".join(f"{count} {result}" for result, count in results.items())


def _write_page() -> None:
    """Write the parts of the page whose reports are all there."""
    parts = parts_of(PAGE.read_text())
    for at, (names, written) in enumerate(
        [(list(BROKERS), broker_part), ([FAULTS], fault_part), (list(CLIENTS), client_part)]
    ):
        lacking = [name for name in names if not _report(name).exists()]
        if lacking:
            print(f"a part stays as it is: no report of {', '.join(lacking)}", file=sys.stderr)
        else:
            parts[at] = written({name: json.loads(_report(name).read_text()) for name in names})
    PAGE.write_text("\n".join(parts))


if __name__ == "__main__":
    sys.exit(main())
