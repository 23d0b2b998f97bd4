"""Runs commands over the hostile set and says what each cost: `python -m tests.hostile.commands FOLDER
[NAME...]`."""

import resource
import subprocess
import sys
import time
from pathlib import Path

from tests.hostile.files import FILES
from tests.hostile.pages import assert_inactive

# Each with what stands behind the file.
COMMANDS: dict[str, list[str]] = {
    "info": ["--deep", "--format", "json"],
    "inspect": ["--records", "--format", "jsonl"],
    "records": ["--format", "jsonl"],
    "check": ["--report", "html={folder}/report.html"],
    "stats": ["--format", "json"],
    "extract": ["--redact", "-o", "{folder}/excerpt.pcapng"],
}
FINE = (0, 1, 3, 4)
LONGEST = 120  # seconds: what takes longer hangs


def main(folder: Path, names: list[str]) -> int:
    """Return every command over every file, each in a process of its own; 1 if one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in names or FILES:
        path = folder / f"{name}.pcap"
        path.write_bytes(FILES[name].make())
        told, took = "", {}
        for command, options in COMMANDS.items():
            line = [option.format(folder=folder) for option in options]
            begin = time.monotonic()
            ran = subprocess.run(
                [sys.executable, "-m", "kdissect", command, str(path), *line],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=LONGEST,
            )
            took[command] = round(time.monotonic() - begin, 1)
            told += ran.stdout + ran.stderr
            if ran.returncode not in FINE or "Traceback" in ran.stderr or "a fault of kdissect" in ran.stderr:
                failed += 1
                print(f"{name}: {command} exits with {ran.returncode}: {ran.stderr[-300:]}")
        try:
            assert_inactive((folder / "report.html").read_text())
        except Exception as error:  # html5lib has its own for each kind of fault
            failed += 1
            print(f"{name}: the report: {type(error).__name__}: {error}")
        if FILES[name].tells not in told:
            failed += 1
            print(f"{name}: nothing says {FILES[name].tells}")
        print(f"{name}: {path.stat().st_size} bytes, seconds: {took}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(f"{len(names or FILES)} files, {failed} failures, peak memory of a command {peak} MB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
