"""Tests real brokers: `python -m captures.conform [BROKER...]`; with `--faults [RULE...]` a faulty one.

Each broker is started, and `kdissect conform broker --destructive` runs against it. Its JSON report is kept
in the workshop. `docs/matrix.md` is written from the reports of all brokers, so that one broker can be
tested again.
"""

import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from captures.conform.brokers import BROKERS
from captures.conform.matrix import FAULTS, PAGE, page
from captures.conform.played_faults import play_all
from captures.record import workshop
from captures.record.command import record_each

_REPORTS = workshop.folder("conform")


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
    ports = int(os.environ.get("KDISSECT_RECORD_PORTS", "19000"))
    parser.add_argument("--port-base", type=int, default=ports, help="first of 100 ports to use")
    options = parser.parse_args()
    if options.faults is not None:
        _keep(play_all(options.port_base, options.faults))
        code = 0
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
        begin = time.monotonic()
        command = ["conform", "broker", address, "--destructive", "--format", "json", "-o", str(target),
                   "--capture", str(capture)]  # fmt: skip
        process = subprocess.Popen([sys.executable, "-m", "kdissect", *command])
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
    report = json.loads(target.read_text())
    report["run"] = {"seconds": round(seconds), "mebibytes": round(usage.ru_maxrss / 1024)}
    target.write_text(json.dumps(report) + "\n")
    return f"exit code {os.waitstatus_to_exitcode(status)}, {seconds:.0f} s, {usage.ru_maxrss >> 10} MiB"


def _write_page() -> None:
    """Write the page, if each broker has a report."""
    lacking = [name for name in [*BROKERS, FAULTS] if not _report(name).exists()]
    if lacking:
        print(f"{PAGE.name} is not written: no report of {', '.join(lacking)}", file=sys.stderr)
        return
    reports: dict[str, Any] = {name: json.loads(_report(name).read_text()) for name in [*BROKERS, FAULTS]}
    PAGE.write_text(page(reports))


if __name__ == "__main__":
    sys.exit(main())
