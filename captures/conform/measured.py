"""A run of `kdissect conform` with its time and peak memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def measured_report(words: Sequence[str], target: Path) -> dict[str, Any]:
    """Run `kdissect conform` with these words, and write its JSON report to a file.

    Returns the report with `run`: seconds, mebibytes of memory at most, and the exit code.
    """
    begin = time.monotonic()
    command = ["conform", words[0], "--format", "json", "-o", str(target), *words[1:]]
    process = subprocess.Popen([sys.executable, "-m", "kdissect", *command])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    run = {
        "seconds": round(time.monotonic() - begin), "mebibytes": round(usage.ru_maxrss / 1024),
        "code": process.returncode,
    }  # fmt: skip
    report: dict[str, Any] = json.loads(target.read_text()) | {"run": run}
    return report
