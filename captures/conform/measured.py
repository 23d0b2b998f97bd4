"""A run of `kdissect conform` with its time and peak memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def measured_report(words: Sequence[str], target: Path, client: Sequence[str] = ()) -> dict[str, Any]:
    """Run `kdissect conform` with these words, and with the command of a client. Its report is in `target`.

    Returns the report with `run`: seconds, mebibytes of memory at most, and the exit code.
    Raises RuntimeError without a report.
    """
    target.unlink(missing_ok=True)
    begin = time.monotonic()
    command = ["conform", *words, "--format", "json", "-o", str(target), *(["--", *client] if client else [])]
    process = subprocess.Popen([sys.executable, "-m", "kdissect", *command])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    run = {
        "seconds": round(time.monotonic() - begin), "mebibytes": round(usage.ru_maxrss / 1024),
        "code": process.returncode,
    }  # fmt: skip
    if not target.exists():
        raise RuntimeError(f"no report: exit code {process.returncode}")
    report: dict[str, Any] = json.loads(target.read_text()) | {"run": run}
    return report
